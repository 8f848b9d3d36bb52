"""S12: each allocation of a run fails in turn, in every operator that has a case.

A run that gets no memory says so, keeps nothing, and gives the same bits when there is again.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import cases
import cffi
import engines
import pytest
from test_kernel_limits import Case, bits, model, one_a_call

from graphio.support import errors

cinfer = engines.module("cinfer")
MOST = 40  # allocations that are failed, evenly chosen

for _module in pkgutil.iter_modules(cases.__path__):
    importlib.import_module(f"cases.{_module.name}")

HEAP = cffi.FFI()
HEAP.cdef("void *aligned_alloc(size_t align, size_t bytes); void free(void *memory);")
LIBC = HEAP.dlopen(None)


class Faulty:
    """The C library, whose sessions get memory from here.

    Attributes:
        requested: the number of allocations.
        failing: the number of the call that gets none.
        held: addresses that were not released.
    """

    def __init__(self, lib: Any, ffi: Any) -> None:
        self.lib = lib
        self.requested, self.failing = 0, -1
        self.held: set[int] = set()

        def alloc(user: Any, size: int, align: int) -> Any:
            self.requested += 1
            if self.requested - 1 == self.failing:
                return ffi.NULL
            position = int(
                HEAP.cast("uintptr_t", LIBC.aligned_alloc(64, -(-size // 64) * 64 or 64))
            )
            self.held.add(position)
            return ffi.cast("void *", position)

        def release(user: Any, memory: Any, size: int) -> None:
            position = int(ffi.cast("uintptr_t", memory))
            self.held.remove(position)
            LIBC.free(HEAP.cast("void *", position))

        self.calls = (
            ffi.callback("void *(void *, size_t, size_t)", alloc),
            ffi.callback("void (void *, void *, size_t)", release),
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lib, name)

    def ci_session_defaults(self) -> Any:
        options = self.lib.ci_session_defaults()
        options.allocator.alloc, options.allocator.release = self.calls
        return options


@pytest.fixture(scope="module")
def faulty() -> Iterator[Faulty]:
    """Replaces the library for the entire module: objects of a failed test may be released late."""
    from graphio.cinfer import model as loading

    lib = loading.lib
    loading.lib = Faulty(lib, loading.ffi)  # type: ignore[assignment]
    yield loading.lib
    loading.lib = lib


WAYS: dict[str, dict[str, bool]] = {
    "fed": {},
    "constants": {"constant": True},
    "unknown shape": {"unknown": True},
}


@pytest.mark.parametrize("case", one_a_call(lambda c: (c.domain, c.op)), ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_gets_no_memory_says_so_and_goes_on_when_there_is(
    case: Case, way: str, faulty: Faulty
) -> None:
    data, fed = model(case, **WAYS[way])
    loaded = cinfer.load(data)
    opened = faulty.requested
    expected = list(map(bits, loaded.signature().run(fed)))
    every = faulty.requested - opened
    refused = 0
    for number in range(0, every, -(-every // MOST)):
        loaded = cinfer.load(data)
        faulty.failing = faulty.requested + number
        try:
            found = loaded.signature().run(fed)
        except errors.ResourceExhaustedError:
            refused += 1
            found = loaded.signature().run(fed)
        assert list(map(bits, found)) == expected
    assert refused
    del loaded, found
    assert not faulty.held
