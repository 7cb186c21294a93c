"""Pulumi dynamic providers, and the edges they use."""
import os

# Before a model is built, pydantic would read the metadata of every installed package for plugins: a tenth of our start.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
