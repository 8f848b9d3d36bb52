"""tf.Print and tf.print: values shown while a run goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.engine import tensor_text
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Operation, Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.base.emit import is_symbolic, node, scope
from graphio.ops.base.host import host_call
from graphio.ops.base.shapes import dims_of
from graphio.support import api_guard

__all__ = ["Print", "print"]

Write = Callable[[str], object]


@api_guard.operator
def Print(
    input_: Any,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """input_, and when a run computes it, a line with data on the standard error.

    Args:
        input_: tensor of any dtype; gradients pass through.
        data: list of tensors to show.
        message: the beginning of the line.
        first_n: lines that each session writes; None or negative: all.
        summarize: elements that are shown of each tensor; None: 3; negative: all.
        name: of the operation.

    Raises:
        TypeError: data is not a list.
    """
    if not isinstance(data, (list, tuple)):
        raise TypeError(f"Print: data is {type(data).__name__}, expected a list of tensors")
    most = 3 if summarize is None else int(summarize)
    limit = -1 if first_n is None else int(first_n)

    def bind(session: Any) -> Callable[[list[Any]], list[Any]]:
        written = 0

        def show(values: list[Any]) -> list[Any]:
            nonlocal written
            if limit < 0 or written < limit:
                parts = "".join(f"[{tensor_text.flat(v, most)}]" for v in values)
                sys.stderr.write(f"{message or ''}{parts}\n")
            written += 1
            return []

        return show

    with scope(name, "Print") as at:
        x = convert_to_tensor(input_, name="input")
        shown = [convert_to_tensor(v, name=f"data_{i}") for i, v in enumerate(data)]
        with scopes.control_dependencies([x]):
            call = host_call(bind, shown, [], function="print", name="show")
        with scopes.control_dependencies([call]):
            return node("Identity", [x], x.dtype, dims_of(x), name=at, tf_type="Print")


@api_guard.operator
def print(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> Operation:
    """An operation that writes its inputs, as Python's print does, whenever it runs.

    It runs where something waits for it: `with tf.control_dependencies([tf.print(...)])`.

    Args:
        inputs: tensors, SparseTensors, Python values, and lists, tuples and dicts of both.
        output_stream: what has a method write, such as sys.stdout; "file://" and a path, to whose
            end is written; a function that takes text; None: the standard error.
        summarize: elements that are shown at each end of every dimension; -1: all.
        sep, end: between the inputs, and after them.
        name: of the operation.

    Raises:
        ValueError: output_stream is none of these.
    """
    write = _writer(output_stream)
    tensors: list[Tensor] = []
    template = [_template(value, tensors) for value in inputs]
    bare = len(template) == 1 and isinstance(template[0], _Placeholder)

    def show(values: list[Any]) -> list[Any]:
        strings = [
            tensor_text.nested(v, summarize, quote=not (bare and v.ndim == 0)) for v in values
        ]
        write(sep.join(_filled(part, strings) for part in template) + end)
        return []

    with scope(name, "print") as at:
        made: Operation = host_call(
            lambda session: show, tensors, [], function="print", name=at, tf_type="PrintV2"
        )
        return made


class _Placeholder:
    """The placeholder of a tensor's text."""

    def __init__(self, index: int) -> None:
        self.index = index


class _Sparse(NamedTuple):
    """The placeholder of the text of a SparseTensor."""

    indices: _Placeholder
    values: _Placeholder
    shape: _Placeholder


def _template(value: Any, tensors: list[Tensor]) -> Any:
    """The value with placeholders for the tensors in it, which are added to the list."""
    if isinstance(value, SparseTensor):
        parts = [_template(t, tensors) for t in (value.indices, value.values, value.dense_shape)]
        return _Sparse(*parts)
    if is_symbolic(value):
        tensors.append(convert_to_tensor(value))
        return _Placeholder(len(tensors) - 1)
    if isinstance(value, Mapping):
        return {key: _template(inner, tensors) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [isinstance(value, tuple), *(_template(inner, tensors) for inner in value)]
    return np.asarray(value) if isinstance(value, np.ndarray) else str(value)


def _filled(part: Any, strings: list[str]) -> str:
    if isinstance(part, _Placeholder):
        return strings[part.index]
    if isinstance(part, _Sparse):
        shown = ", ".join(f"{label}={_filled(p, strings)}" for label, p in part._asdict().items())
        return f"'SparseTensor({shown})'"
    if isinstance(part, dict):
        return "{" + ", ".join(f"{k!r}: {_filled(v, strings)}" for k, v in part.items()) + "}"
    if isinstance(part, list):
        inside = ", ".join(_filled(v, strings) for v in part[1:])
        return f"({inside})" if part[0] else f"[{inside}]"
    return str(part)


def _writer(stream: Any) -> Write:
    if stream is None:
        return lambda text: sys.stderr.write(text)
    if isinstance(stream, str) and stream.startswith("file://"):
        return _appending(stream[len("file://") :])
    if hasattr(stream, "write"):
        write: Write = stream.write
        return write
    if callable(stream):
        function: Write = stream
        return function
    raise ValueError(
        f"Unknown output stream {stream!r}; expected sys.stderr, sys.stdout, another file, "
        "'file://' and a path, or a function"
    )


def _appending(path: str) -> Write:
    def write(text: str) -> None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)

    return write
