"""S9, S10: shapes and numbers at the edges of what kernels take: cinfer against the Python runtime.

One row a node. Whatever instructions and threads are used, cinfer gives the same bits, and what the
numpy kernels give.
"""

from __future__ import annotations

import importlib
import pkgutil

import corners
import engines
import numpy as np
import pytest
from cases import TOLERANCE
from corners import CORNERS, Corner

from graphio.schema import dtypes

cinfer = engines.module("cinfer")
WAYS = [(isa, threads) for isa in engines.instruction_sets() for threads in (1, 2)]

for _module in pkgutil.iter_modules(corners.__path__):
    importlib.import_module(f"corners.{_module.name}")


def test_the_library_says_which_instructions_there_are() -> None:
    from graphio.cinfer.model import ISA, lib

    there = [isa for isa, number in ISA.items() if lib.ci_isa_available(number)]
    assert there == ["best", *engines.instruction_sets()]


def plain(x: np.ndarray) -> np.ndarray:
    """Elements that numpy lacks as float64."""
    return x.astype(np.float64) if dtypes.of_numpy(x.dtype).number in dtypes.ML_DTYPES else x


def bits(x: np.ndarray) -> object:
    """The bits that must be equal; an array of strings holds addresses."""
    return x.tolist() if x.dtype == object else x.tobytes()


@pytest.mark.parametrize("row", CORNERS, ids=str)
def test_every_way_gives_what_the_runtime_gives(row: Corner) -> None:
    for constant in (False, True):
        data, fed = engines.one_node(
            row.op,
            row.inputs,
            row.attrs,
            row.outputs,
            domain=row.domain,
            version=row.version,
            constant=constant,
        )
        found = [cinfer.load(data, isa=isa, threads=n).signature().run(fed) for isa, n in WAYS]
        for other in found[1:]:
            assert list(map(bits, other)) == list(map(bits, found[0]))
        expected = engines.run("runtime", data, fed)
        for y, expected_values in zip(found[0], expected, strict=True):
            assert y.dtype == expected_values.dtype
            assert y.shape == expected_values.shape
            if row.tolerance or plain(y).dtype.kind in "fc":
                rtol = row.tolerance or TOLERANCE.get(str(y.dtype), 1e-2)
                np.testing.assert_allclose(
                    plain(y), plain(expected_values), rtol=rtol, atol=rtol, equal_nan=True
                )
            else:
                np.testing.assert_array_equal(y, expected_values)
