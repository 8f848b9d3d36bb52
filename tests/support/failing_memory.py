"""An allocator of the C library of which one call fails, and which sees what is given back."""

from __future__ import annotations

from typing import Any

from graphio.cinfer._native import ffi

SIZE = 1 << 20
KEPT = ffi.new("char[]", SIZE + 64)
ARENA = KEPT + -int(ffi.cast("uintptr_t", KEPT)) % 64


class Memory:
    """The `failing`-th call for `least` bytes or more fails; no memory is given twice."""

    def __init__(self, failing: int, least: int = 0) -> None:
        self.failing, self.least, self.calls, self.taken = failing, least, 0, 0
        self.held: dict[int, int] = {}
        self._alloc = ffi.callback("void *(void *, size_t, size_t)", self._give)
        self._release = ffi.callback("void (void *, void *, size_t)", self._take)

    def _give(self, user: Any, size: int, align: int) -> Any:
        self.calls += size >= self.least
        if size >= self.least and self.calls == self.failing:
            return ffi.NULL
        at = ARENA + self.taken
        self.taken += (size + 127) // 64 * 64
        assert self.taken < SIZE
        self.held[int(ffi.cast("uintptr_t", at))] = size
        return at

    def _take(self, user: Any, memory: Any, size: int) -> None:
        assert self.held.pop(int(ffi.cast("uintptr_t", memory))) == size

    def serve(self, options: Any) -> None:
        """Makes it the allocator of a model, a state or a session."""
        options.allocator.alloc, options.allocator.release = self._alloc, self._release

    @property
    def failed(self) -> bool:
        return 0 < self.failing <= self.calls
