"""Seeds of random generators."""

from __future__ import annotations

__all__ = ["mix_seeds"]


def mix_seeds(graph_seed: int, op_seed: int) -> int:
    """A 64-bit key of both, by two rounds of SplitMix64 (Steele, Lea and Flood 2014)."""
    mask = (1 << 64) - 1
    state = graph_seed & mask
    for word in (0, op_seed & mask):
        state = (state ^ word) + 0x9E3779B97F4A7C15 & mask
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        state = (state ^ state >> 27) * 0x94D049BB133111EB & mask
        state ^= state >> 31
    return state
