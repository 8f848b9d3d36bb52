"""The cases of onnx.backend.test, and comparison by the standard's own rule."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")


@dataclass(frozen=True)
class SuiteCase:
    """One case.

    Attributes:
        name: "node/test_abs".
        model: to run.
        data: inputs and expected outputs.
        rtol, atol: of the comparison.
    """

    name: str
    model: onnx.ModelProto
    data: tuple[tuple[list[Any], list[Any]], ...]
    rtol: float
    atol: float

    @property
    def nondeterministic(self) -> bool:
        """Whether the case draws random numbers."""
        drawn = ("Bernoulli", "Dropout", "RandomNormalLike", "RandomUniformLike")
        return any(node.op_type in drawn for node in self.model.graph.node)


@functools.cache
def cases() -> dict[str, SuiteCase]:
    """All cases but the nine whole architectures, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [_case(test) for kind in KINDS for test in load_model_tests(kind=kind)]
    return {case.name: case for case in found}


def _case(test: Any) -> SuiteCase:
    name = f"{test.kind}/{test.name}"
    if test.model is not None:
        data = tuple((_plain(inputs), _plain(outputs)) for inputs, outputs in test.data_sets)
        return SuiteCase(name, test.model, data, test.rtol, test.atol)
    folder = Path(test.model_dir)
    model = onnx.load(folder / "model.onnx")
    data = tuple(
        (_values(each, "input", model.graph.input), _values(each, "output", model.graph.output))
        for each in sorted(folder.glob("test_data_set_*"))
    )
    return SuiteCase(name, model, data, test.rtol, test.atol)


def _plain(value: Any) -> Any:
    """Arrays for messages, also inside lists."""
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _values(folder: Path, prefix: str, declared: Any) -> list[Any]:
    return list(_read(folder, prefix, declared))


def _read(folder: Path, prefix: str, declared: Any) -> Iterator[Any]:
    kinds = {
        "sequence_type": (onnx.SequenceProto, numpy_helper.to_list),
        "optional_type": (onnx.OptionalProto, numpy_helper.to_optional),
    }
    for i, value in enumerate(declared):
        path = folder / f"{prefix}_{i}.pb"
        if path.exists():
            kind = value.type.WhichOneof("value")
            make, convert = kinds.get(kind, (onnx.TensorProto, numpy_helper.to_array))
            proto = make()
            proto.ParseFromString(path.read_bytes())
            yield convert(proto)


def check(backend: Any, case: SuiteCase) -> None:
    """Runs a case in a backend. Raises what goes wrong, AssertionError for other values."""
    prepared = backend.prepare(case.model)
    for inputs, expected in case.data:
        found = prepared.run(list(inputs))
        Runner.assert_similar_outputs(_flat(expected), _flat(found), case.rtol, case.atol)


def _flat(values: Any) -> list[Any]:
    """Lists as their lengths and elements: the standard's rule fails on scalars in lists."""
    made: list[Any] = []
    for value in values:
        made += [np.array(len(value)), *_flat(value)] if isinstance(value, list) else [value]
    return made
