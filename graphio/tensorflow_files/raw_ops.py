"""tf.raw_ops: a function for each type of operation of TensorFlow that graphio builds.

The table op_definitions.json, which tools/op_definitions.py writes, has the arguments. What is
built is what a GraphDef with such a node gives (operators/).
"""

from __future__ import annotations

import collections
import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType, as_dtype
from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.variable import Variable
from graphio.ops.control_flow.tensor_array import TensorArray
from graphio.protos.node_def import AttrValue
from graphio.schema import tensorflow_pb2 as pb
from graphio.support import api_guard
from graphio.tensorflow_files import by_type

__all__ = ["definitions", "function", "generated"]

_LISTS = {"list(int)": "i", "list(float)": "f", "list(bool)": "b", "list(string)": "s"}


@functools.cache
def definitions() -> Mapping[str, Any]:
    """By type of operation: its inputs, attributes and outputs."""
    text = (Path(__file__).parent / "op_definitions.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@functools.cache
def function(op_type: str) -> Callable[..., Any]:
    """The function that makes an operation of a type, by keyword arguments.

    Args:
        op_type: one of definitions().

    Returns:
        A function of the operation's inputs, its attributes that do not follow from them, and
        name. It returns the operation's tensor; a list where the output is one; a named tuple of
        several; the operation where it has none. Raises TypeError for positional arguments, those
        that there are not, and inputs whose dtypes differ.
    """
    return _named(op_type, op_type, positions=False)


@functools.cache
def generated(name: str) -> Callable[..., Any] | None:
    """The function of a module such as tensorflow.python.ops.gen_nn_ops: that of function(), whose
    arguments may also be given by position.

    Args:
        name: max_pool_grad for MaxPoolGrad. Modules older than those of TensorFlow 1.9 had it with
            an underscore before it.

    Returns:
        None if there is no such operation.
    """
    op_type = _by_generated_name().get(name.removeprefix("_"))
    return _named(op_type, name, positions=True) if op_type else None


@functools.cache
def _by_generated_name() -> Mapping[str, str]:
    """Types of operations by the names of their generated functions: an underscore precedes a
    capital letter after or before a small one."""
    words = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])")
    return {words.sub("_", op_type).lower(): op_type for op_type in definitions()}


def _named(op_type: str, name: str, positions: bool) -> Callable[..., Any]:
    """The function of a type of operation.

    Args:
        name: of the function.
        positions: whether it takes arguments by position.
    """
    definition = definitions()[op_type]

    @api_guard.operator
    def call(*positional: Any, name: str | None = None, **given: Any) -> Any:
        if positional and not positions:
            raise TypeError(f"{op_type} only takes keyword args (possible keys: {known})")
        if len(positional) > len(known):
            raise TypeError(f"{op_type} takes {len(known)} arguments, {len(positional)} are given")
        placed = dict(zip(known, positional, strict=False))
        if twice := sorted(placed.keys() & given.keys()):
            raise TypeError(f"{op_type} got multiple values for argument '{twice[0]}'")
        chosen = placed.pop("name", name)
        return _Raw(op_type, definition, {**placed, **given}).built(chosen or op_type)

    known = [*_parameters(definition), "name"]
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The operation {op_type} of TensorFlow, from {', '.join(known)}."
    return call


def _parameters(definition: Any) -> list[str]:
    """The arguments in their order: inputs, attributes without a default value, and those with."""
    inferred, attributes = _inferred(definition), definition["attributes"]
    free = [key for key in attributes if key not in inferred]
    inputs = [key for key, _ in definition["inputs"]]
    return [*inputs, *sorted(free, key=lambda key: len(attributes[key]) > 1)]


def _inferred(definition: Any) -> set[str]:
    """The attributes that follow from the inputs."""
    kinds = [kind for _, kind in definition["inputs"]]
    return {part for kind in kinds for part in kind.split("*")} & set(definition["attributes"])


class _Raw:
    """One call of a function of tf.raw_ops.

    Args:
        op_type: of the operation.
        definition: its row of the table.
        given: the arguments.
    """

    def __init__(self, op_type: str, definition: Any, given: dict[str, Any]) -> None:
        self.op_type, self.definition = op_type, definition
        self.given = dict(given)
        self.attributes: dict[str, Any] = {}

    def built(self, name: str) -> Any:
        """The result of the function."""
        scoped = scopes.get_default_graph()
        values = [
            value for key, kind in self.definition["inputs"] for value in self._input(key, kind)
        ]
        self._take_attributes()
        old = self.definition.get("renamed", {})
        messages = {
            old.get(key, key): _message(self.definition["attributes"][key][0], value)
            for key, value in self.attributes.items()
        }
        made = by_type.built(scoped, self.op_type, values, name, messages)
        return self._outputs(made)

    # ---- inputs ----

    def _input(self, key: str, kind: str) -> list[Any]:
        """The tensors of an input; those of a list are counted by its attribute."""
        if key not in self.given:
            raise TypeError(f"{self.op_type} missing required argument '{key}'")
        value = self.given.pop(key)
        count, star, plain = kind.partition("*")
        if not star:
            return [self._tensor(value, kind, key)]
        if not isinstance(value, (list, tuple)):
            raise TypeError(
                f"Expected list for '{key}' argument to '{self.op_type}' Op, not {value!r}."
            )
        if not count:
            tensors = [convert_to_tensor(one, name=key) for one in value]
            self.attributes[plain] = [tensor.dtype.base_dtype for tensor in tensors]
            return list(tensors)
        self.attributes[count] = len(value)
        self._take_type(plain, [one for one in value if isinstance(one, (Tensor, Variable))])
        return [self._tensor(one, plain, key) for one in value]

    def _tensor(self, value: Any, kind: str, key: str) -> Any:
        """A tensor of an element type, or of the one that an attribute names; a variable where its
        tensor is expected stays one."""
        if isinstance(value, Variable) and kind == "resource" or isinstance(value, TensorArray):
            return value
        self._take_type(kind, [value] if isinstance(value, (Tensor, Variable)) else [])
        if kind not in self.definition["attributes"]:
            return self._converted(value, as_dtype(kind), key)
        if kind in self.attributes:
            return self._converted(value, self.attributes[kind], key)
        default = self.definition["attributes"][kind][1:]
        made = _preferring(value, as_dtype(default[0]) if default else None, key)
        self.attributes[kind] = made.dtype.base_dtype
        return made

    def _take_type(self, kind: str, tensors: Sequence[Any]) -> None:
        """Notes the element type of the first tensor of an attribute."""
        if kind in self.definition["attributes"] and kind not in self.attributes and tensors:
            self.attributes[kind] = tensors[0].dtype.base_dtype

    def _converted(self, value: Any, dtype: DType, key: str) -> Any:
        if isinstance(value, Variable):
            found: Any = value
        elif isinstance(value, Tensor):
            found = value
        else:
            return convert_to_tensor(value, dtype=dtype, name=key)
        if dtype.name != "resource" and found.dtype.base_dtype != dtype:
            raise TypeError(
                f"Input '{key}' of '{self.op_type}' Op has type {found.dtype.base_dtype.name} that "
                f"does not match expected type of {dtype.name}."
            )
        return found

    # ---- attributes ----

    def _take_attributes(self) -> None:
        """Takes the attributes that were given, and the defaults of others."""
        for key, (kind, *default) in self.definition["attributes"].items():
            if key in self.attributes:
                continue
            if key not in self.given and not default:
                raise TypeError(f"{self.op_type} missing required argument '{key}'")
            value = self.given.pop(key, None)
            value = default[0] if value is None and default else value
            if kind == "type" and value is not None:
                value = as_dtype(value)
            self.attributes[key] = value
        if self.given:
            raise TypeError(
                f"{self.op_type} got an unexpected keyword argument '{next(iter(self.given))}'"
            )

    # ---- outputs ----

    def _outputs(self, made: Any) -> Any:
        """The tensors of a row as the definition groups them."""
        rows = self.definition["outputs"]
        if not rows:
            return by_type.operation_of(made)
        flat = list(made) if isinstance(made, (list, tuple)) else [made]
        groups = []
        for _, kind in rows:
            count, star, plain = kind.partition("*")
            if not star:
                groups.append(flat.pop(0))
                continue
            number = self.attributes[count] if count else len(self.attributes[plain])
            groups.append([flat.pop(0) for _ in range(number)])
        if len(rows) == 1:
            return groups[0]
        return collections.namedtuple(self.op_type, [key for key, _ in rows])(*groups)


def _preferring(value: Any, dtype: DType | None, key: str) -> Tensor:
    """value as a tensor, of a dtype where it can have it."""
    if dtype is not None:
        try:
            return convert_to_tensor(value, dtype=dtype, name=key)
        except (TypeError, ValueError):
            pass
    return convert_to_tensor(value, name=key)


def _message(kind: str, value: Any) -> pb.AttrValue:
    """An attribute of a kind as TensorFlow's message."""
    made = pb.AttrValue()
    if kind == "type":
        made.type = value.as_datatype_enum
    elif kind == "shape":
        by_type.fill_shape(made.shape, TensorShape(value))
    elif kind == "list(type)":
        made.list.type.extend([as_dtype(one).as_datatype_enum for one in value])  # type: ignore[misc]
    elif kind == "list(shape)":
        for one in value:
            by_type.fill_shape(made.list.shape.add(), TensorShape(one))
    elif kind in _LISTS:
        getattr(made.list, _LISTS[kind]).extend(_plain(one) for one in value)
        made.list.SetInParent()
    elif kind == "tensor":
        made = by_type.message(AttrValue(tensor=value))
    elif kind in ("int", "float", "bool", "string"):
        setattr(made, kind[0], _plain(value))
    else:
        raise TypeError(f"an attribute is a {kind}, which tf.raw_ops does not take")
    return made


def _plain(value: Any) -> Any:
    """Text as bytes, a number of numpy as Python's."""
    if isinstance(value, str):
        return value.encode()
    return value.item() if hasattr(value, "item") else value
