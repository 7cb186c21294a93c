"""What `tools/setup` does, one step to a file. Standard library only."""
