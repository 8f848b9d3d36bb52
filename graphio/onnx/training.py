"""The training domain of the standard: steps of its optimizers, and Gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from graphio.autodiff.gradients import gradients
from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.onnx.attributes import from_proto
from graphio.onnx.scope import Scope
from graphio.ops.base import primitive
from graphio.ops.base.primitive import binary, cast, compare, select, unary
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.onnx.importing import Importer

__all__ = ["DOMAIN", "TABLE", "gradient"]

DOMAIN = "ai.onnx.preview.training"
Lowered = Sequence["Tensor | None"]
#: (rate, count of updates, one tensor's values, attributes) to the new values
Step = Callable[[Tensor, Tensor, Sequence[Tensor], Any], Sequence[Tensor]]

#: attributes with their defaults; None: it must be there
_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "Adagrad": {"decay_factor": 0.0, "epsilon": 1e-6, "norm_coefficient": 0.0},
    "Adam": {
        "alpha": 0.9,
        "beta": 0.999,
        "epsilon": 1e-6,
        "norm_coefficient": 0.0,
        "norm_coefficient_post": 0.0,
    },
    "Momentum": {"alpha": None, "beta": None, "mode": None, "norm_coefficient": None},
}


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    expected = _ATTRIBUTES[node.op_type]
    found = {a.name: from_proto(a) for a in node.attribute}
    unknown, values = sorted(set(found) - set(expected)), {**expected, **found}
    missing = sorted(key for key, value in values.items() if value is None)
    if unknown or missing:
        text = f"has no attribute {unknown[0]}" if unknown else f"needs the attribute {missing[0]}"
        raise ValueError(f"{text}; its attributes are {', '.join(expected)}")
    return values


def _number(value: float, like: Tensor) -> Tensor:
    return constant(np.asarray(value, like.dtype.as_numpy_dtype))


def _scaled(factor: float, x: Tensor) -> Tensor:
    return binary("Mul", _number(factor, x), x)


def _as_scalar(x: Tensor, dtype: DType) -> Tensor:
    """A scalar, or the element of a vector, of a type."""
    return cast(primitive.reshape(x, [], ()), dtype)


def _regularized(x: Tensor, g: Tensor, attrs: Any) -> Tensor:
    return binary("Add", _scaled(attrs["norm_coefficient"], x), g)


def _optimizer(step: Step, kinds: int) -> Callable[[onnx.NodeProto, Any], Lowered]:
    """An operator that takes the rate, the count, and then `kinds` values of each tensor, all of
    one kind before the next, and gives those that change, kind by kind."""

    def lower(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Lowered:
        attrs = _attributes(node)
        given = [x for x in inputs if x is not None]
        count, rest = divmod(len(given) - 2, kinds)
        if len(given) != len(inputs) or count < 1 or rest:
            raise ValueError(
                f"has {len(given)} inputs, expected the rate, the count of updates, and {kinds} "
                "for each tensor"
            )
        rate, updates, *values = given
        wide = dtypes.float64
        groups = [values[i::count] for i in range(count)]
        made = []
        for group in groups:
            different = [v for v in group if v.dtype != group[0].dtype]
            if different or not group[0].dtype.is_floating:
                raise ValueError(f"its values are {', '.join(v.dtype.name for v in group)}")
            made.append(step(_as_scalar(rate, wide), _as_scalar(updates, wide), group, attrs))
        return [new[kind] for kind in range(kinds - 1) for new in made]

    return lower


def _adagrad(
    rate: Tensor, updates: Tensor, values: Sequence[Tensor], attrs: Any
) -> Sequence[Tensor]:
    x, g, h = values
    decay = binary("Add", _number(1, rate), _scaled(attrs["decay_factor"], updates))
    rate = cast(binary("Div", rate, decay), x.dtype)
    regularized = _regularized(x, g, attrs)
    squares = binary("Add", h, binary("Mul", regularized, regularized))
    root = binary("Add", unary("Sqrt", squares), _number(attrs["epsilon"], x))
    moved = binary("Div", binary("Mul", rate, regularized), root)
    return binary("Sub", x, moved), squares


def _adam(rate: Tensor, updates: Tensor, values: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
    x, g, v, h = values
    alpha, beta, one = attrs["alpha"], attrs["beta"], _number(1, rate)
    regularized = _regularized(x, g, attrs)
    mean = binary("Add", _scaled(alpha, v), _scaled(1 - alpha, regularized))
    squares = binary("Mul", regularized, regularized)
    spread = binary("Add", _scaled(beta, h), _scaled(1 - beta, squares))
    root = binary("Add", unary("Sqrt", spread), _number(attrs["epsilon"], x))

    begun = compare("Greater", updates, _number(0, rate))
    times = select(begun, updates, one)  # without a division by zero where it does not count
    above = unary("Sqrt", binary("Sub", one, binary("Pow", _number(beta, rate), times)))
    below = binary("Sub", one, binary("Pow", _number(alpha, rate), times))
    adjusted = select(begun, binary("Div", binary("Mul", rate, above), below), rate)

    moved = binary("Mul", cast(adjusted, x.dtype), binary("Div", mean, root))
    new = binary("Sub", x, moved)
    return _scaled(1 - attrs["norm_coefficient_post"], new), mean, spread


def _momentum(
    rate: Tensor, updates: Tensor, values: Sequence[Tensor], attrs: Any
) -> Sequence[Tensor]:
    x, g, v = values
    mode, rate = attrs["mode"], cast(rate, x.dtype)
    if mode not in ("standard", "nesterov"):
        raise ValueError(f"mode is {mode!r}, expected 'standard' or 'nesterov'")
    begun = compare("Greater", updates, _number(0, updates))
    beta = select(begun, _number(attrs["beta"], x), _number(1, x))
    regularized = _regularized(x, g, attrs)
    moment = binary("Add", _scaled(attrs["alpha"], v), binary("Mul", beta, regularized))
    way = moment
    if mode == "nesterov":
        way = binary("Add", regularized, _scaled(attrs["alpha"], moment))
    return binary("Sub", x, binary("Mul", rate, way)), moment


TABLE: dict[tuple[str, str], Callable[[onnx.NodeProto, Any], Lowered]] = {
    (DOMAIN, "Adagrad"): _optimizer(_adagrad, 3),
    (DOMAIN, "Adam"): _optimizer(_adam, 4),
    (DOMAIN, "Momentum"): _optimizer(_momentum, 3),
}


# ---- Gradient ----


def gradient(
    importer: Importer, node: onnx.NodeProto, inputs: Sequence[Tensor | None], scope: Scope
) -> Lowered:
    """The derivatives of y by xs, at the values that the node has for xs and then zs.

    Where these are other values than those of the names, the nodes between are made again.
    """
    attrs = {a.name: from_proto(a) for a in node.attribute}
    xs, zs = _names(attrs.get("xs")), _names(attrs.get("zs"))
    y = attrs.get("y")
    if not xs or not isinstance(y, str):
        raise ValueError("needs the attributes xs and y")
    if len(inputs) != len(xs) + len(zs) or None in inputs:
        raise ValueError(f"has {len(inputs)} inputs, xs and zs name {len(xs) + len(zs)}")
    named = [_found(scope, name) for name in (*xs, *zs)]
    given = [x for x in inputs if x is not None]
    requested = _found(scope, y)
    if any(a is not b for a, b in zip(named, given, strict=True)):
        # one value under two names counts for each of them alone
        given = [primitive.unary("Identity", x) for x in given]
        requested = _again(importer, scope, y, dict(zip((*xs, *zs), given, strict=True)))
    slopes = gradients([requested], given[: len(xs)])
    return [
        primitive.fill_like(x, 0) if dy is None else dy
        for x, dy in zip(given, slopes, strict=False)
    ]


def _names(value: Any) -> list[str]:
    return [name.decode() if isinstance(name, bytes) else name for name in value or []]


def _found(scope: Scope, name: str) -> Tensor:
    try:
        found = scope.find(name)
    except KeyError:
        raise ValueError(f"nothing makes '{name}' before it") from None
    if found is None:
        raise ValueError(f"'{name}' could not be made")
    return found


def _again(importer: Importer, scope: Scope, y: str, values: dict[str, Tensor]) -> Tensor:
    """y from other values of what it depends on."""
    nodes = _between(importer.model.graph.node, values, y)
    if not nodes:
        raise errors.UnimplementedError(
            message=f"takes other values than those of its names, and no nodes of the main graph "
            f"lead from them to '{y}'"
        )
    inner = Scope(scope)
    inner.values.update(values)
    importer.nodes(nodes, inner)
    return _found(inner, y)


def _between(
    nodes: Sequence[onnx.NodeProto], begins: Iterable[str], y: str
) -> list[onnx.NodeProto]:
    """The nodes that lead from some values to y, in their order."""
    reached = set(begins)
    behind = []
    for node in nodes:
        if reached.intersection(node.input) and not reached.intersection(node.output):
            reached.update(name for name in node.output if name)
            behind.append(node)
    needed, found = {y}, []
    for node in reversed(behind):
        if needed.intersection(node.output):
            needed.update(node.input)
            found.append(node)
    return found[::-1]
