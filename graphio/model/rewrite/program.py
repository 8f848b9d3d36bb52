"""From nodes to the steps of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphio.model.rewrite.work import Work, attributes
from graphio.schema import fused
from graphio.schema.nodes import PlainNode

__all__ = ["Maker", "StepOf", "literal", "step_of"]


class StepOf(NamedTuple):
    """A node as the step of a program: a name in fused.OPS, the values that it reads there, the
    operator's numbers."""

    op: str
    values: tuple[str, ...]
    numbers: tuple[float, float]


def step_of(work: Work, node: PlainNode) -> StepOf | None:
    """The step that a node can be; None: it is not an elementwise operator on float32."""
    if node.name not in work.notes:
        work.notes[node.name] = _step_of(work, node)
    found: StepOf | None = work.notes[node.name]
    return found


def _step_of(work: Work, node: PlainNode) -> StepOf | None:
    names = fused.BY_NODE.get((node.domain, node.op))
    if names is None or len(node.form.types) != 1:
        return None
    if node.form.types[0].dtype != fused.FLOAT:
        return None
    if node.op == "Clip":
        return _clip(work, node)
    attrs = attributes(node)
    name = names[0]
    if node.op == "Gelu":
        name = "GeluTanh" if attrs.get("approximate", "none") == "tanh" else "Gelu"
    op = fused.OPS[name]
    if len(node.input) != op.arity or any(work.dtype(v) != fused.FLOAT for v in node.input):
        return None
    if name == "PRelu" and work.shape(node.input[0]) != work.shape(node.name):
        return None
    numbers = [float(np.float32(attrs.get(k, default))) for k, default in dict(op.numbers).items()]
    return StepOf(name, tuple(node.input), _pair(numbers))


def _clip(work: Work, node: PlainNode) -> StepOf | None:
    """Clip with bounds that are known."""
    bounds = [-np.inf, np.inf]
    if work.dtype(node.input[0]) != fused.FLOAT:
        return None
    for k, value in enumerate(node.input[1:3]):
        if value:
            array = work.constant(value)
            if array is None or array.size != 1 or array.dtype != np.float32:
                return None
            bounds[k] = float(array.reshape(()))
    return StepOf("Clip", (node.input[0],), _pair(bounds))


def _pair(numbers: Sequence[float]) -> tuple[float, float]:
    first, second = (*numbers, 0.0, 0.0)[:2]
    return first, second


def literal(work: Work, value: str) -> float | None:
    """The number that a value is in every run, as a scalar that changes no shape."""
    array = work.constant(value)
    if array is None or array.ndim or array.dtype != np.float32:
        return None
    return float(array)


class Maker:
    """A program in the making.

    Attributes:
        inputs: names of the program's inputs.
    """

    def __init__(self, work: Work, inputs: Sequence[str]) -> None:
        self.work, self.inputs = work, list(inputs)
        self._results: dict[str, int] = {}
        self._literals: dict[bytes, int] = {}
        self._steps: list[fused.Step] = []

    def add(self, node: PlainNode) -> None:
        """Adds a node as the next step."""
        step = step_of(self.work, node)
        assert step is not None
        operands = tuple(map(self._operand, step.values))
        self._results[node.name] = len(self.inputs) + len(self._steps)
        self._steps.append(fused.Step(step.op, operands, step.numbers, node.name))

    def _operand(self, value: str) -> int:
        if value in self._results:
            return self._results[value]
        if value in self.inputs:
            return self.inputs.index(value)
        number = literal(self.work, value)
        assert number is not None, value
        bits = np.float32(number).tobytes()
        return -1 - self._literals.setdefault(bits, len(self._literals))

    def program(self) -> fused.Program:
        """All steps so far."""
        numbers = tuple(float(np.frombuffer(bits, np.float32)[0]) for bits in self._literals)
        return fused.Program(tuple(self._steps), numbers)
