"""One node on its way to the newest opset, and what the rules may do with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from graphio.onnx.upgrade.facts import Facts, Path

__all__ = ["Names", "Step", "Unsupported"]

#: an attribute's kind to the attribute of Constant and the element type that hold its value
_CONSTANT_OF_KIND: dict[int, tuple[str, type[np.generic]]] = {
    onnx.AttributeProto.INT: ("value_int", np.int64),
    onnx.AttributeProto.INTS: ("value_ints", np.int64),
    onnx.AttributeProto.FLOAT: ("value_float", np.float32),
    onnx.AttributeProto.FLOATS: ("value_floats", np.float32),
}


class Unsupported(Exception):
    """A node without an equal in the newest opset: why, and what to do about it."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(f"{why}: {remedy}")


class Names:
    """Names of values and nodes that a model has, and new ones that differ from them."""

    def __init__(self, taken: set[str], read: set[str]) -> None:
        self._taken = taken
        self._read = read

    def new(self, base: str) -> str:
        """`base`, with a number appended if there is one already."""
        name, n = base, 0
        while name in self._taken:
            n += 1
            name = f"{base}_{n}"
        self._taken.add(name)
        return name

    def is_read(self, value: str) -> bool:
        """Whether a node reads the value or a graph gives it out."""
        return value in self._read


class Step:
    """A node that rules change, with the nodes that they put before and after it.

    Attributes:
        node: the node in its present form; it keeps its name and the names of its values.
        version: the opset that it was written for.
        before: new nodes that it needs, in the newest form.
        after: new nodes that need it.
    """

    def __init__(
        self, node: onnx.NodeProto, version: int, facts: Facts, path: Path, names: Names
    ) -> None:
        self.node = node
        self.version = version
        self.before: list[onnx.NodeProto] = []
        self.after: list[onnx.NodeProto] = []
        self._facts = facts
        self._path = path
        self._names = names

    # attributes

    def attribute(self, name: str) -> onnx.AttributeProto | None:
        """The attribute; None where it is absent."""
        return next((a for a in self.node.attribute if a.name == name), None)

    def value(self, name: str, default: Any = None) -> Any:
        """The attribute's value; strings as text.

        Raises:
            Unsupported: it is a parameter of the function around the node.
        """
        found = self.attribute(name)
        if found is None:
            return default
        if found.ref_attr_name:
            raise Unsupported(
                f"its attribute {name!r} is the function's parameter {found.ref_attr_name!r}",
                "give it a value in the function, or inline the function",
            )
        value = helper.get_attribute_value(found)
        return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value

    def take(self, name: str, default: Any = None) -> Any:
        """As value(), and the node has the attribute no more."""
        value = self.value(name, default)
        self.drop(name)
        return value

    def drop(self, *names: str) -> None:
        """Removes those of the attributes that there are."""
        kept = [a for a in self.node.attribute if a.name not in names]
        if len(kept) != len(self.node.attribute):
            del self.node.attribute[:]
            self.node.attribute.extend(kept)

    def set(self, name: str, value: Any) -> None:
        """Gives the attribute this value."""
        self.drop(name)
        self.node.attribute.append(helper.make_attribute(name, value))

    # inputs and outputs

    def input(self, i: int) -> str:
        """The i-th input's name; empty where it is absent."""
        return self.node.input[i] if i < len(self.node.input) else ""

    def output(self, i: int) -> str:
        """The i-th output's name; empty where it is absent."""
        return self.node.output[i] if i < len(self.node.output) else ""

    def is_read(self, i: int) -> bool:
        """Whether anything needs the i-th output."""
        return bool(self.output(i)) and self._names.is_read(self.output(i))

    def set_input(self, i: int, name: str) -> None:
        """Makes a value the i-th input; those between are absent."""
        while len(self.node.input) <= i:
            self.node.input.append("")
        self.node.input[i] = name

    def set_inputs(self, *names: str) -> None:
        """Makes these the inputs."""
        del self.node.input[:]
        self.node.input.extend(names)

    def keep_inputs(self, count: int) -> None:
        """Drops the inputs from the given one on."""
        del self.node.input[count:]

    def keep_outputs(self, count: int) -> None:
        """Drops the outputs from the given one on; absent ones at the end go too."""
        kept = list(self.node.output[:count])
        while kept and not kept[-1]:
            kept.pop()
        del self.node.output[:]
        self.node.output.extend(kept)

    def redirect_output(self, i: int, suffix: str) -> tuple[str, str]:
        """Gives the i-th output a new name; returns it and the old one, now without a source."""
        old = self.node.output[i]
        self.node.output[i] = self.new_name(suffix)
        return self.node.output[i], old

    # known facts of values

    def type(self, name: str) -> int:
        """Number of a value's element type; 0 where it is unknown."""
        return self._facts.element_type(self._path, name)

    def dims(self, name: str) -> list[int | None] | None:
        """A value's sizes; None where they are unknown."""
        return self._facts.dims(self._path, name)

    def rank(self, name: str) -> int | None:
        """A value's rank; None where it is unknown."""
        dims = self.dims(name)
        return None if dims is None else len(dims)

    def known(self, name: str) -> np.ndarray | None:
        """A constant's value; None where it is not known."""
        return self._facts.constant(self._path, name)

    # new nodes

    def add(self, op: str, *inputs: str, suffix: str, **attrs: Any) -> str:
        """A node of the newest opset before this one; returns its output's name."""
        name = self.new_name(suffix)
        self.before.append(helper.make_node(op, list(inputs), [name], name=name, **attrs))
        return name

    def add_after(self, op: str, *inputs: str, output: str, suffix: str, **attrs: Any) -> None:
        """A node of the newest opset after this one that gives the value `output`."""
        name = self.new_name(suffix)
        self.after.append(helper.make_node(op, list(inputs), [output], name=name, **attrs))

    def constant(self, value: Any, suffix: str, dtype: Any = np.int64) -> str:
        """A constant of the values; returns its name."""
        tensor = numpy_helper.from_array(np.asarray(value, dtype))
        return self.add("Constant", suffix=suffix, value=tensor)

    def constant_of(self, attribute: str) -> str | None:
        """Moves an attribute's value, or a function's parameter, into a constant of its name."""
        found = self.attribute(attribute)
        if found is None:
            return None
        key, dtype = _CONSTANT_OF_KIND[found.type]
        if not found.ref_attr_name:
            return self.constant(self.take(attribute), attribute, dtype)
        parameter = onnx.AttributeProto()
        parameter.CopyFrom(found)
        parameter.name = key
        self.drop(attribute)
        name = self.add("Constant", suffix=attribute)
        self.before[-1].attribute.append(parameter)
        return name

    def scalar_like(self, value: float, like: str, suffix: str) -> str:
        """A scalar constant of another value's element type."""
        number = self.type(like)
        if number:
            kind = helper.tensor_dtype_to_np_dtype(number)
            with np.errstate(over="ignore"):  # float32's limits are infinite in float16
                array = np.asarray(value).astype(kind)
            return self.add("Constant", suffix=suffix, value=numpy_helper.from_array(array))
        plain = self.constant(value, f"{suffix}_float", np.float32)
        return self.add("CastLike", plain, like, suffix=suffix)

    def scalar_of(self, attribute: str, like: str) -> str | None:
        """Moves an attribute's value into a scalar of another value's element type."""
        found = self.attribute(attribute)
        if found is None:
            return None
        if not found.ref_attr_name:
            return self.scalar_like(self.take(attribute), like, attribute)
        plain = self.constant_of(attribute)
        assert plain is not None
        return self.add("CastLike", plain, like, suffix=attribute)

    def new_name(self, suffix: str) -> str:
        """A name that nothing has, made of the node's own and a suffix."""
        base = self.node.name or next((o for o in self.node.output if o), self.node.op_type)
        return self._names.new(f"{base}/{suffix}")
