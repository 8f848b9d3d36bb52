"""S7: what a kernel cannot bear is refused where it is used, in both engines."""

from __future__ import annotations

import importlib
import pkgutil

import engines
import pytest
import refusals
from refusals import REFUSALS, Refusal

for _module in pkgutil.iter_modules(refusals.__path__):
    importlib.import_module(f"refusals.{_module.name}")


def run(engine: str, row: Refusal, constant: bool) -> None:
    data, inputs = engines.one_node(
        row.op,
        row.inputs,
        row.attrs,
        row.outputs,
        domain=row.domain,
        version=row.version,
        constant=constant,
    )
    engines.run(engine, data, inputs)


@pytest.mark.parametrize("row", REFUSALS, ids=str)
def test_what_a_kernel_cannot_bear_is_refused(row: Refusal) -> None:
    for constant in (False, True):
        with pytest.raises(row.error) as caught:
            run("cinfer", row, constant)
        assert type(caught.value) is row.error
        assert row.words in str(caught.value)
    if row.runtime is not None:
        with pytest.raises(row.runtime) as caught:
            run("runtime", row, False)
        assert type(caught.value) is row.runtime
