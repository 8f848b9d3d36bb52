"""Proofs of what docs/reliability.md promises: commands with seeds, counts and a log."""
