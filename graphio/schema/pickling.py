"""The path by which pickles of models name `rebuild`: it stays for ever."""

from graphio.engine.pickling import rebuild

__all__ = ["rebuild"]
