"""cinfer and the Python runtime beside other engines, in turns: `python -m benchmarks.peers`."""
