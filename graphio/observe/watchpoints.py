"""Conditions on values, looked at while a session runs: stop, raise, log or call when one holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.execution.session import Session
from graphio.framework.graph import Operation, Tensor
from graphio.observe.debug_values import (
    DebugTensor,
    TensorFilter,
    check_engine,
    chooser,
    data_of,
    has_inf_or_nan,
    name_of,
)
from graphio.support import api_guard, errors, logging

__all__ = ["Hit", "Watch", "watch"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Hit:
    """A value that meets a watch's condition.

    Attributes:
        datum: the value, with its name, operation and array.
        inputs: what its operation read.
        condition: the condition's name.
    """

    datum: DebugTensor
    inputs: tuple[DebugTensor, ...]
    condition: str

    @property
    def op(self) -> Operation:
        """The operation that gave the value."""
        return self.datum.op

    def __str__(self) -> str:
        lines = [f"{self.op.type} '{self.op.name}'{self.op.where} gave a value that is watched for"]
        lines[0] += f" ({self.condition}):" if self.condition else ":"
        return "\n".join([*lines, f"  {self.datum}", *(f"  from {one}" for one in self.inputs)])


def _raise(hit: Hit) -> None:
    raise errors.InvalidArgumentError(hit.op.node_def, hit.op, str(hit))


def _break(hit: Hit) -> None:
    """In the debugger: `hit`, its `value` and the values it was made `of`."""
    value = hit.datum.array  # noqa: F841
    of = {datum.name: datum.array for datum in hit.inputs}  # noqa: F841
    print(hit)
    breakpoint()


#: actions of a watchpoint, by name
_ACTIONS: dict[str, Callable[[Hit], Any]] = {
    "raise": _raise,
    "break": _break,
    "log": lambda hit: logging.warning("%s", hit),
}


class Watch:
    """A watch of a session, from its making until remove() or the end of a with statement.

    Attributes:
        hits: how often the condition held.
    """

    def __init__(
        self,
        session: Session,
        chosen: Callable[[Tensor], bool],
        when: TensorFilter,
        then: Callable[[Hit], Any],
    ) -> None:
        self._graph, self._visitors = session.graph, session._visitors
        self._chosen, self._when, self._then = chosen, when, then
        self._tensors: dict[str, list[Tensor | None]] = {}  # of each operation, those watched
        self._busy = False
        self.hits = 0
        self._visitors.append(self._visit)

    def remove(self) -> None:
        """Ends the watch; once is enough."""
        if self._visit in self._visitors:
            self._visitors.remove(self._visit)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *details: Any) -> None:
        self.remove()

    def _visit(self, node: Any, inputs: list[Any], results: list[Any]) -> None:
        """Looks at what an operation gave, unless `then` itself runs something."""
        if node.name not in self._tensors:
            op = self._graph.find_operation(node.name)
            outputs = op.outputs if op is not None else []
            self._tensors[node.name] = [t if self._chosen(t) else None for t in outputs]
        if self._busy or all(t is None for t in self._tensors[node.name]):
            return
        self._busy = True
        try:
            for datum in data_of(self._tensors[node.name], results):
                if self._when(datum, datum.array):
                    self.hits += 1
                    name = getattr(self._when, "__name__", "")
                    read = data_of(datum.op.operands, inputs)
                    self._then(Hit(datum, read, "" if name == "<lambda>" else name))
        finally:
            self._busy = False


@api_guard.guarded
def watch(
    session: Session,
    what: Any = None,
    when: TensorFilter = has_inf_or_nan,
    then: str | Callable[[Hit], Any] = "raise",
) -> Watch:
    """Looks at values while the session runs, inside of branches and loops, too.

    A watched session runs each operation by itself and keeps every value to the end of the run, so
    it is slower; without a watch nothing is. What is fed, and constants, are not looked at.

    Args:
        session: of the Python runtime, tf.Session(target="runtime").
        what: a tensor, operation or variable, or a list of them; a regular expression that names
            match from the start; a function of a tensor; None: all.
        when: the condition: takes a DebugTensor and its array.
        then: "raise" an InvalidArgumentError that names the operation and its line, "break" in the
            debugger (breakpoint()), "log" a warning, or a function of the Hit.

    Returns:
        The Watch: remove() ends it, and so does leaving a with statement.

    Raises:
        TypeError: session is not a Session; then is not a function.
        UnimplementedError: the session is in cinfer, the default engine.
        ValueError: then is another word.
    """
    check_engine(session, "tf.debug.watch")
    if isinstance(then, str):
        if then not in _ACTIONS:
            raise ValueError(f"then is {then!r}, expected one of {', '.join(map(repr, _ACTIONS))}")
        action = _ACTIONS[then]
    elif callable(then):
        action = then
    else:
        raise TypeError(f"then is {type(then).__name__}, expected a function or a word")
    return Watch(session, _chosen(what), when, action)


def _chosen(what: Any) -> Callable[[Tensor], bool]:
    if what is None or isinstance(what, str):
        return chooser(what)
    if callable(what) and not isinstance(what, (Tensor, Operation)):
        return chooser(what)
    several: Sequence[Any] = what if isinstance(what, (list, tuple)) else [what]
    names = {name for one in several for name in _names_of(one)}
    return lambda tensor: tensor.name in names


def _names_of(element: Any) -> list[str]:
    """A tensor's name; of an operation those of all its outputs."""
    if isinstance(element, Operation):
        return [tensor.name for tensor in element.outputs]
    return [name_of(element)]
