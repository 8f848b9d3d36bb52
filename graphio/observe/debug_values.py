"""Descriptions of values for debugging: kind, range, non-finite elements, source line."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.execution.session import Session
from graphio.framework.graph import Operation, Tensor
from graphio.framework.source import Source
from graphio.support import api_guard, errors

Array = np.ndarray[Any, Any]
TensorFilter = Callable[["DebugTensor", Array], Any]


@dataclass(frozen=True)
class DebugTensor:
    """One value of a run.

    Attributes:
        tensor: whose value it is.
        array: the value.
        fed: whether the caller gave it.
    """

    tensor: Tensor
    array: Array
    fed: bool

    @property
    def name(self) -> str:
        """ "log:0"."""
        return self.tensor.name

    @property
    def op(self) -> Operation:
        """The operation that made it."""
        made: Operation = self.tensor.op
        return made

    @property
    def node_name(self) -> str:
        """ "log"."""
        return self.op.name

    @property
    def output_slot(self) -> int:
        """The index of the operation's output."""
        return self.tensor.value_index

    @property
    def source(self) -> Source:
        """The line of the program that made the operation."""
        return self.op.source

    @property
    def nonfinite(self) -> str:
        """ "2 NaN, 1 Inf", "" if all is finite or it is not a floating tensor."""
        if not _is_floating(self.array):
            return ""
        counts = ((int(test(self.array).sum()), name) for name, test in _TESTS)
        return ", ".join(f"{count} {name}" for count, name in counts if count)

    @property
    def kind(self) -> str:
        """ "float32[2,3]"."""
        return f"{self.tensor.dtype.name}[{','.join(map(str, self.array.shape))}]"

    def range(self) -> tuple[str, str, str]:
        """Least, largest and mean of what is finite, as text; "" where there are no numbers."""
        if self.tensor.dtype.name == "string" or np.iscomplexobj(self.array):
            return "", "", ""
        numbers = self.array.astype(np.float64).ravel()
        numbers = numbers[np.isfinite(numbers)]
        if not numbers.size:
            return "", "", ""
        least, most, mean = (f(numbers) for f in (np.min, np.max, np.mean))
        return f"{least:.6g}", f"{most:.6g}", f"{mean:.6g}"

    def __str__(self) -> str:
        least, most, _ = self.range()
        within = f" in {least} .. {most}" if least else ""
        bad = f", {self.nonfinite} of {self.array.size}" if self.nonfinite else ""
        return f"{self.name} {self.kind}{within}{bad}"


_TESTS = (("NaN", np.isnan), ("Inf", np.isinf))


def _is_floating(array: Array) -> bool:
    return array.dtype.kind in "fc" or array.dtype.name in ("bfloat16",)


@api_guard.guarded
def has_inf_or_nan(datum: DebugTensor, array: Array) -> bool:
    """A tensor filter: whether something in a floating tensor is infinite or no number."""
    return _is_floating(array) and not bool(np.isfinite(array).all())


def name_of(tensor: Any) -> str:
    """The name of a tensor that is given by itself or its name; of an operation's first output."""
    if isinstance(tensor, str):
        return tensor if ":" in tensor else f"{tensor}:0"
    convert = getattr(tensor, "_as_graph_element", None)
    element = tensor if convert is None else convert()
    return f"{element.name}:0" if isinstance(element, Operation) else str(element.name)


@dataclass(frozen=True)
class Visit:
    """An operation of a run, about to run or after it.

    Attributes:
        op: the operation.
        inputs, outputs: their values, as far as they are tensors.
        done: whether it has run.
    """

    op: Operation
    inputs: tuple[DebugTensor, ...]
    outputs: tuple[DebugTensor, ...]
    done: bool

    @property
    def source(self) -> Source:
        """The line of the program that made the operation."""
        return self.op.source

    def __str__(self) -> str:
        state = "" if self.done else " is next"
        lines = [f"{self.op.type} '{self.op.name}'{self.op.where}{state}"]
        lines += [f"  from {one}" for one in self.inputs]
        return "\n".join([*lines, *(f"  gave {one}" for one in self.outputs)])


def data_of(
    tensors: Sequence[Tensor | None], values: Sequence[Any], fed: Collection[Tensor] = ()
) -> tuple[DebugTensor, ...]:
    """The values of tensors; sequences, absent ones and what is not there yet are left out."""
    return tuple(
        DebugTensor(tensor, np.asarray(value), tensor in fed)
        for tensor, value in zip(tensors, values, strict=False)  # bodies read more than the inputs
        if tensor is not None and isinstance(value, (np.ndarray, np.generic))
    )


def check_engine(session: Any, what: str) -> None:
    """Refuses an object that is not a session, and one whose engine does not show its operations
    one by one."""
    if not isinstance(session, Session):
        raise TypeError(f"{what}: got {type(session).__name__}, expected a tf.Session")
    if not session._engine.has("separate"):
        raise errors.UnimplementedError(
            message=f"{what} needs the Python runtime, the session is in {session._engine.name}: "
            'take tf.Session(target="runtime") with the same graph and checkpoint; in both engines '
            "tf.debug.DebugSession shows the values of a run"
        )


def chooser(watch: Any) -> Callable[[Tensor], bool]:
    """Whether a tensor is meant: by None (all), a pattern of names' beginnings, or a function."""
    if watch is None:
        return lambda tensor: True
    if callable(watch):
        chosen: Callable[[Tensor], bool] = watch
        return chosen
    pattern = re.compile(watch)
    return lambda tensor: pattern.match(tensor.name) is not None
