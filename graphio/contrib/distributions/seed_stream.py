"""Seeds for the draws of one function."""

from __future__ import annotations

import hashlib
from typing import Any

__all__ = ["SeedStream"]


class SeedStream:
    """A function without arguments that gives another seed at each call.

    Args:
        seed: an integer; None: all seeds are None; a SeedStream: the seed of that.
        salt: a string that no other function has.
    """

    def __init__(self, seed: Any, salt: str) -> None:
        self._seed = seed.original_seed if isinstance(seed, SeedStream) else seed
        self._salt = salt
        self._counter = 0

    def __call__(self) -> int | None:
        """The next seed."""
        self._counter += 1
        if self._seed is None:
            return None
        digits = hashlib.sha512(str((self._seed, self._counter, self._salt)).encode()).hexdigest()
        return int(digits, 16)

    @property
    def original_seed(self) -> Any:
        """The seed that all are made from."""
        return self._seed

    @property
    def salt(self) -> str:
        """The string that no other function has."""
        return self._salt
