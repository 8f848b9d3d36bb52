"""Custom operators: declared once, then built, differentiated, saved and run.

TensorFlow takes them from shared libraries alone (tf.load_op_library); here Python is enough, and
C is for speed and for programs without Python. See docs/custom-operators.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphio.engine import custom
from graphio.framework import dtypes, gradient_registry
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import emit
from graphio.schema import dtypes as element_types
from graphio.schema import operators
from graphio.support import api_guard, errors

__all__ = ["CustomOperator", "register_operator"]

_DOMAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*$")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*: [A-Za-z_][A-Za-z0-9_]*(\?|\*0?)?$")
_OURS = frozenset({"ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training", "graphio"})


class CustomOperator:
    """A builder of nodes, which `register_operator` returns.

    Call it with its inputs in order (None: an optional one that is absent), its attributes by
    name, and `name`, that of the node; it gives the output, or a tuple where there are several.
    """

    def __init__(self, made: custom.CustomOperator) -> None:
        self._made = made

    @property
    def domain(self) -> str:
        """The domain that files name it by."""
        return self._made.row.domain

    @property
    def name(self) -> str:
        """The operator's name."""
        return self._made.row.op

    @property
    def version(self) -> int:
        """The version that new nodes have."""
        return self._made.row.version

    def __repr__(self) -> str:
        return f"<CustomOperator {self._made.title} version {self.version}>"

    def __call__(self, *inputs: Any, name: str | None = None, **attributes: Any) -> Any:
        row = self._made.row
        with emit.scope(name, row.op) as scope:
            tensors = self._inputs(inputs)
            given = self._attributes(attributes)
            made = emit.operation(
                row.op,
                tensors,
                self._outputs(tensors, given),
                name=scope,
                domain=row.domain,
                version=row.version,
                attrs={k: v for k, v in given.items() if v is not None},
            )
        return made.outputs[0] if len(made.outputs) == 1 else tuple(made.outputs)

    def _inputs(self, inputs: Sequence[Any]) -> list[Tensor | None]:
        row = self._made.row
        if not row.min_inputs <= len(inputs) <= row.max_inputs:
            requested = ", ".join(p.name for p in row.inputs)
            raise TypeError(f"{row.op} takes the inputs ({requested}), got {len(inputs)}")
        first: dict[str, Tensor] = {}
        tensors: list[Tensor | None] = []
        for i, value in enumerate(inputs):
            parameter = row.inputs[min(i, len(row.inputs) - 1)]
            if value is None:
                if not parameter.optional:
                    raise TypeError(f"{row.op}: its input '{parameter.name}' is None")
                tensors.append(None)
                continue
            allowed = row.types.get(parameter.type, frozenset({parameter.type}))
            tensor = self._input(value, parameter, allowed, first)
            first.setdefault(parameter.type, tensor)
            tensors.append(tensor)
        return tensors

    def _input(
        self,
        value: Any,
        parameter: operators.Parameter,
        allowed: frozenset[str],
        first: Mapping[str, Tensor],
    ) -> Tensor:
        op = self._made.row.op
        if parameter.type in first:
            other = first[parameter.type]
            tensor = emit.like(value, other, op, (parameter.name, parameter.name))
        elif len(allowed) == 1 and not emit.is_symbolic(value):
            (only,) = allowed
            tensor = convert_to_tensor(value, dtype=dtypes.as_dtype(only), name=parameter.name)
        else:
            tensor = convert_to_tensor(value, name=parameter.name)
        if tensor.dtype.base_dtype.name not in allowed:
            raise TypeError(
                f"{op}: its input '{parameter.name}' is {tensor.dtype.base_dtype.name}, expected "
                f"{' or '.join(sorted(allowed))}; cast it"
            )
        return tensor

    def _attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        row = self._made.row
        unknown = sorted(set(given) - set(row.attributes))
        missing = sorted(k for k, s in row.attributes.items() if s.required and k not in given)
        problems = [f"no attribute {k!r}" for k in unknown]
        problems += [f"attribute {k!r} is required" for k in missing]
        problems += [
            f"attribute {k!r} is {v!r}, expected {row.attributes[k].kind}"
            for k, v in given.items()
            if k in row.attributes and not _is_kind(v, row.attributes[k].kind)
        ]
        if problems:
            listed = ", ".join(f"{k} ({s.kind})" for k, s in row.attributes.items())
            raise TypeError(f"{row.op}: {'; '.join(problems)}. It has: {listed or 'none'}")
        plain = {k: _plain(v, row.attributes[k].kind) for k, v in given.items()}
        return self._made.attributes(plain)

    def _outputs(
        self, inputs: Sequence[Tensor | None], attributes: Mapping[str, Any]
    ) -> list[tuple[dtypes.DType, Any]]:
        made = self._made
        types = made.output_types([0 if t is None else t.dtype.base_dtype.number for t in inputs])
        shapes: Sequence[custom.Dims] = [None] * len(types)
        if all(t is None or t.shape.ndims is not None for t in inputs):
            dims = [None if t is None else tuple(t.shape.as_list()) for t in inputs]
            try:
                shapes = made.shapes(dims, attributes)
            except errors.OpError as error:
                raise ValueError(f"{made.row.op}: {error.message}") from error.__cause__
        return [(dtypes.of_number(t), s) for t, s in zip(types, shapes, strict=True)]


def _is_kind(value: Any, kind: str) -> bool:
    requested = custom.KINDS[kind]
    if kind.endswith("s"):
        return isinstance(value, (list, tuple)) and all(_is_one(v, requested) for v in value)
    return _is_one(value, requested)


def _is_one(value: Any, requested: tuple[type, ...]) -> bool:
    return isinstance(value, requested) and not isinstance(value, bool)


def _plain(value: Any, kind: str) -> Any:
    if kind == "float":
        return float(value)
    if kind == "floats":
        return [float(v) for v in value]
    return list(value) if kind == "ints" else value


@api_guard.guarded
def register_operator(
    domain: str,
    name: str,
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    shape: custom.ShapeRule,
    version: int = 1,
    types: Mapping[str, str] | None = None,
    attributes: Mapping[str, Sequence[Any]] | None = None,
    kernel: Callable[..., Any] | None = None,
    library: str | os.PathLike[str] | None = None,
    gradient: Callable[..., Any] | None = None,
    stateful: bool = False,
) -> CustomOperator:
    """Declares a custom operator; declared again, the later one holds.

    Args:
        domain: whose it is, as files name it: "com.example".
        name: of the operator: "ScaledTanh".
        inputs: a string for each parameter, as the operator table has them: "x: T", "bias: T?" may
            be absent, "rest: T*" is any number from one on, "rest: T*0" from none on.
        outputs: likewise, "y: T"; an output's type is that of an input's letter, or an element type
            such as "float32".
        shape: rule from the inputs' shapes (tuples, None for an unknown size; None: absent) and the
            attributes by name to the outputs' shapes. It is called with unknown sizes while
            building and with known ones in a run.
        version: which nodes of files name; an older file finds the newest that is not newer.
        types: what the letters stand for: {"T": "float32 float64"}.
        attributes: kind ("int", "float", "string", "ints", "floats") and default of each; without a
            default it is required: {"scale": ("float", 1.0)}.
        kernel: inputs as read-only arrays (None: absent) and the attributes by name to an array, or
            a tuple where there are several outputs. Both engines can call it.
        library: a shared library that exports `ci_operators` (cinfer.h); cinfer prefers its kernel.
        gradient: takes the operation and one gradient an output, returns one an input (None:
            none), or a single one. None: a gradient through the operator is an error.
        stateful: True: equal inputs may give other outputs, so that nodes are never merged, left
            out or computed ahead.

    Returns:
        What builds its nodes.

    Raises:
        ValueError: all that is wrong with the declaration.
        NotFoundError: there is no such library.
    """
    problems = _problems(domain, name, version, inputs, outputs, types or {}, attributes or {})
    problems += [
        f"{what} is {type(given).__name__}, expected a function"
        for what, given in (("shape", shape), ("kernel", kernel), ("gradient", gradient))
        if not callable(given) and (what == "shape" or given is not None)
    ]
    if kernel is None and library is None:
        problems.append("neither kernel nor library is given: nothing could run it")
    if problems:
        raise ValueError(f"operator {domain}.{name}: {'; '.join(problems)}")
    row = operators.table().add(
        {
            "op": name,
            "domain": domain,
            "version": version,
            "family": "custom",
            "inputs": list(inputs),
            "outputs": list(outputs),
            "attributes": {k: list(v) for k, v in (attributes or {}).items()},
            "types": dict(types or {}),
            "differentiable": gradient is not None,
            "stateful": stateful,
        }
    )
    path = None if library is None else custom.library_path(library)
    made = custom.CustomOperator(row, shape, kernel, path)
    custom.register(made)
    if gradient is not None:
        gradient_registry.gradient(name, domain)(_as_sequence(gradient))
    return CustomOperator(made)


def _as_sequence(function: Callable[..., Any]) -> gradient_registry.GradientFunction:
    def gradients(operation: Operation, *incoming: Any) -> Sequence[Tensor | None]:
        found = function(operation, *incoming)
        return [*found] if isinstance(found, (list, tuple)) else [found]

    return gradients


def _problems(
    domain: str,
    name: str,
    version: int,
    inputs: Sequence[str],
    outputs: Sequence[str],
    types: Mapping[str, str],
    attributes: Mapping[str, Sequence[Any]],
) -> list[str]:
    found = []
    if not _DOMAIN.match(domain) or domain in _OURS:
        found.append(f"domain {domain!r} is taken or no name with dots, such as 'com.example'")
    if not _NAME.match(name):
        found.append(f"{name!r} is not a name")
    if not isinstance(version, int) or not 1 <= version < 2**31:
        found.append(f"version is {version!r}, expected 1 or more")
    found += [f"{t!r} is not a parameter such as 'x: T'" for t in _strings(inputs, outputs)]
    if found:
        return found
    if not outputs:
        found.append("it has no output")
    letters = {text.split(": ")[1].rstrip("?*0") for text in inputs}
    for text in (*inputs, *outputs):
        kind = text.split(": ")[1].rstrip("?*0")
        if kind not in types and kind not in element_types.BY_NAME:
            found.append(f"{text!r}: {kind} is neither in types nor an element type")
        elif text in outputs and kind in types and kind not in letters:
            found.append(f"output {text!r}: no input has the type {kind}, so it is not known")
    if any(text.endswith(("?", "*", "*0")) for text in outputs):
        found.append("outputs are neither optional nor variadic")
    if any(text.endswith(("*", "*0")) for text in inputs[:-1]):
        found.append("only the last input may be variadic")
    for key, listed in types.items():
        numbers = set(element_types.BY_NAME) - {"string"}
        unknown = sorted(set(listed.split()) - numbers)
        found += [f"types of {key}: {u} is not a type of numbers" for u in unknown]
    for key, spec in attributes.items():
        if not 1 <= len(spec) <= 2 or spec[0] not in custom.KINDS:
            kinds = ", ".join(custom.KINDS)
            found.append(
                f"attribute {key}: {spec!r} is not a pair (kind, default); kinds are {kinds}"
            )
        elif len(spec) == 2 and not _is_kind(spec[1], spec[0]):
            found.append(f"attribute {key}: its default {spec[1]!r} is not of kind {spec[0]}")
    return found


def _strings(inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
    return [t for t in (*inputs, *outputs) if not isinstance(t, str) or not _PARAMETER.match(t)]
