"""Benchmarks: what our components cost beside the same stack without them, as ratios measured side by side in one run.

`python -m bench [NAME ...]` runs them; results go to bench/results/. Never part of the tests. docs/performance.md tells the figures.
"""
