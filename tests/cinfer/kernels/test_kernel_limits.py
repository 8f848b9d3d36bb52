"""S7, S8: attributes of another kind, and little memory, in every operator that has a case."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import cases
import engines
import numpy as np
import pytest
from cases import CASES, Case

from graphio.schema import operators
from graphio.support import errors

cinfer = engines.module("cinfer")

for _module in pkgutil.iter_modules(cases.__path__):
    importlib.import_module(f"cases.{_module.name}")


def one_a_call(key: Any) -> list[Case]:
    """The first case of each kind that `key` tells apart."""
    return list({key(case): case for case in reversed(CASES)}.values())


def model(case: Case, *, constant: bool = False, unknown: bool = False) -> tuple[bytes, list[Any]]:
    """The case as a file, and what to feed; see engines.one_node."""
    return engines.one_node(
        case.op,
        case.inputs,
        case.attrs,
        [x.dtype for x in case.outputs],
        domain=case.domain,
        version=case.version,
        constant=constant,
        unknown=unknown,
    )


#: attributes that no kernel reads: they say something to other programs, or to the plan
UNREAD = {"locale", "recv_device", "send_device", "shape", "sorted", "tensor_name"}


def attributes() -> Iterator[Any]:
    """Each attribute of each operator that has a case, once."""
    for case in one_a_call(lambda c: (c.domain, c.op)):
        row = operators.find(case.domain, case.op, case.version)
        kinds = {} if row is None else {name: spec.kind for name, spec in row.attributes.items()}
        for name in sorted(kinds.keys() - UNREAD):
            changed = {**case.attrs, name: 7 if kinds[name] == "string" else "seven"}
            made = dataclasses.replace(case, attrs=changed)
            yield pytest.param(made, name, id=f"{case.op}-{name}")


@pytest.mark.parametrize(("case", "name"), list(attributes()))
def test_an_attribute_of_another_kind_is_refused(case: Case, name: str) -> None:
    data, fed = model(case, constant=True)
    for engine in engines.NAMES:
        with pytest.raises(errors.InvalidArgumentError) as caught:
            engines.run(engine, data, fed)
        assert name in str(caught.value)


def bits(x: Any) -> Any:
    """The bits that must be equal; an array of strings holds addresses."""
    return x.tolist() if x.dtype == object else x.tobytes()


class Limited:
    """The C library, whose sessions hold so much memory."""

    def __init__(self, lib: Any, limit: int) -> None:
        self.lib = lib
        self.limit = limit

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lib, name)

    def ci_session_defaults(self) -> Any:
        options = self.lib.ci_session_defaults()
        options.limits.max_memory = self.limit
        return options


@pytest.mark.parametrize("case", one_a_call(lambda c: (c.domain, c.op)), ids=str)
def test_a_session_with_little_memory_says_so_or_gives_the_same(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphio.cinfer import model as loading

    for constant in (False, True):
        data, fed = model(case, constant=constant)
        expected = engines.run("cinfer", data, fed)
        refused = 0
        for limit in sorted({1, *(n * x.nbytes for x in case.outputs for n in (1, 2))}):
            monkeypatch.setattr(loading, "lib", Limited(loading.lib, limit))
            try:
                found = engines.run("cinfer", data, fed)
            except errors.ResourceExhaustedError:
                refused += 1
            else:
                assert list(map(bits, found)) == list(map(bits, expected))
            monkeypatch.undo()
        assert refused or max(x.nbytes for x in case.outputs) <= 1


@pytest.mark.parametrize("times", [2, 20])
def test_strings_that_become_longer_than_memory_are_refused(
    times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphio.cinfer import model as loading

    text = np.array([b"long" * 1000], object)
    data, fed = engines.one_node(
        "StringJoin", [text] * times, {"separator": ""}, [object], domain="graphio"
    )
    monkeypatch.setattr(loading, "lib", Limited(loading.lib, 20000))
    if times == 2:
        assert engines.run("cinfer", data, fed)[0].tolist() == [b"long" * 2000]
        return
    with pytest.raises(errors.ResourceExhaustedError, match="the strings exceed"):
        engines.run("cinfer", data, fed)


def others(x: Any) -> Iterator[Any]:
    """The input with another element type, or another rank."""
    yield np.full(x.shape, b"7", object)
    yield x.astype(np.complex64) if x.dtype != object else np.zeros(x.shape, np.int32)
    yield np.array(x[None])
    yield x.reshape(-1)[:1].reshape(()) if x.size else x.reshape(-1)


@pytest.mark.parametrize("case", one_a_call(lambda c: (c.domain, c.op)), ids=str)
def test_an_input_of_another_type_or_rank_is_refused_or_gives_what_the_runtime_gives(
    case: Case,
) -> None:
    for i, x in enumerate(case.inputs):
        for other in () if x is None else others(x):
            inputs = (*case.inputs[:i], other, *case.inputs[i + 1 :])
            data, fed = model(dataclasses.replace(case, inputs=inputs), constant=False)
            try:
                found = engines.run("cinfer", data, fed)
            except (errors.InvalidArgumentError, errors.UnimplementedError):
                continue
            expected = engines.run("runtime", data, fed)
            assert [y.shape for y in found] == [y.shape for y in expected]


@pytest.mark.parametrize("shape", [(2**40, 0, 0), (2**40, 0, 3), (2**40, 3, 0)])
def test_any_number_of_matrices_of_nothing_has_factors_at_once(shape: tuple[int, ...]) -> None:
    empty = np.empty(shape, np.float32)
    data, fed = engines.one_node("Qr", [empty], {}, [np.float32] * 2, domain="graphio", version=1)
    q, r = engines.run("cinfer", data, fed)
    assert q.shape == (*shape[:-1], 0) and r.shape == (shape[0], 0, shape[2])
