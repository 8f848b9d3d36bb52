"""Benchmark of cinfer, the Python runtime and other engines: `python -m benchmarks.peers`."""
