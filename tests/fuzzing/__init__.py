"""Fuzzing: targets that are handed bytes, what changes these bytes, and what was found."""
