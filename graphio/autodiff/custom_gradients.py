"""Gradients that the program gives: custom_gradient, RegisterGradient, gradient_override_map.

They belong to the graph that is built here. A saved model has the operations alone: the gradient
of a loaded one is that of its operators.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from graphio.autodiff.gradients import sources
from graphio.framework import dtypes, gradient_registry, nest, registered, scopes, source
from graphio.framework.constants import convert_to_tensor
from graphio.framework.gradient_registry import REGIONS, GradientFunction, Region
from graphio.framework.graph import Operation, Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import surface as array
from graphio.support import api_guard
from graphio.variables.variables import Variable, variables_of

__all__ = [
    "NoGradient",
    "NotDifferentiable",
    "RegisterGradient",
    "custom_gradient",
    "grad_pass_through",
    "no_gradient",
    "variables_between",
]


# ---- by name ----

#: types of TensorFlow's whose operators here have other names; their gradients are given
_TENSORFLOW = frozenset(
    "AddN AddV2 All Any ArgMax ArgMin AvgPool BatchMatMul BatchMatMulV2 BiasAdd BroadcastTo "
    "CheckNumerics ConcatV2 Const Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv3D "
    "Cumprod Cumsum DepthwiseConv2dNative DynamicPartition DynamicStitch ExpandDims Fill "
    "FloorDiv FloorMod FusedBatchNorm GatherNd GatherV2 IdentityN L2Loss LRN LogicalAnd "
    "LogicalNot LogicalOr MatrixInverse Maximum Mean Minimum Pack Placeholder "
    "PlaceholderWithDefault Print Prod PyFunc RandomStandardNormal RandomUniform Range Rank "
    "RealDiv Reverse ReverseV2 Rint Rsqrt SegmentMean SegmentSum Select Shape Size "
    "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits Square "
    "SquaredDifference StridedSlice Sum TensorArrayV3 TruncatedNormal Unpack "
    "UnsortedSegmentSum VariableV2 ZerosLike".split()
)


class RegisterGradient:
    """A decorator that gives a gradient function a name, for Graph.gradient_override_map.

    The function takes the operation and one gradient for each of its outputs, and returns one
    gradient (or None) for each of its inputs, a list of them if there are several.

    Args:
        op_type: the name.

    Raises:
        TypeError: it is not a string. KeyError: it has a gradient.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._name = op_type

    def __call__(self, function: GradientFunction) -> GradientFunction:
        _register(self._name, function)
        return function


@api_guard.guarded
def NotDifferentiable(op_type: str) -> None:
    """Says that no gradient passes through what bears the name. See RegisterGradient."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _register(op_type, None)


NoGradient = NotDifferentiable
no_gradient = NotDifferentiable


def _register(name: str, function: GradientFunction | None) -> None:
    known = {op for _, op in gradient_registry.functions() | gradient_registry.without()}
    if name in gradient_registry.named or name in known | _TENSORFLOW:
        raise KeyError(
            f"Registering two gradient with name {name!r}! It has one already; choose another "
            "name and use Graph.gradient_override_map"
        )
    gradient_registry.named[name] = function


@registered.region_by_name.register
def region_by_name(operation: Operation, name: str) -> Region:
    """The region of one operation, as TensorFlow knows it, whose gradient has a name.

    Raises:
        LookupError: nothing is registered by the name.
    """
    if name not in gradient_registry.named:
        raise LookupError(
            f"No gradient defined for operation '{operation.name}' (op type: {operation.type}): "
            f"gradient_override_map names {name!r}, which tf.RegisterGradient does not know"
        )
    function = gradient_registry.named[name]
    view = _View(operation)

    def differentiate(arriving: Sequence[Any]) -> Sequence[Any]:
        if function is None:
            return [None] * len(view.inputs)
        return _fitted(_listed(function(view, *arriving)), view)

    return Region([operation], view.inputs, operation.outputs, differentiate)


class _View:
    """An operation with the inputs that TensorFlow's has, for gradient functions.

    Where a builder makes several nodes, the last has the name, and the names of the others begin
    with it: the inputs are what those read from outside.
    """

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._beneath = operation.name + "/"
        found: dict[Tensor, None] = {}
        for tensor in operation.operands:
            if tensor is not None:
                self._look(tensor, found)
        inner = any(self._is_part(t) for t in operation.operands if t is not None)
        self.inputs: list[Any] = list(found) if inner else list(operation.operands)

    def _is_part(self, tensor: Tensor) -> bool:
        return bool(tensor.op.operands) and tensor.op.name.startswith(self._beneath)

    def _look(self, tensor: Tensor, found: dict[Tensor, None]) -> None:
        if self._is_part(tensor):
            for before in tensor.op.operands:
                if before is not None:
                    self._look(before, found)
        elif not self._is_own(tensor):
            found.setdefault(tensor)

    def _is_own(self, tensor: Tensor) -> bool:
        """Whether it is a number of the builder's, not an operand that was given as one."""
        own = tensor.op.name.startswith(self._beneath)
        return own and tensor.op.name[len(self._beneath) :] not in ("x", "y")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operation, name)

    def __repr__(self) -> str:
        return repr(self._operation)


def _fitted(found: list[Any], view: _View) -> list[Any]:
    """The gradients, one an input; an operand read twice, or a constant of the node, needs none."""
    inputs = view.inputs
    spare = [
        i
        for i, t in enumerate(inputs)
        if t in inputs[:i] or (not t.op.operands and t.op.name.startswith(view.name + "/"))
    ]
    if len(found) == len(inputs) - len(spare):
        given = iter(found)
        return [None if i in spare else next(given) for i in range(len(inputs))]
    if len(found) != len(inputs):
        raise ValueError(
            f"Num gradients {len(found)} generated for op '{view.name}' (op type: {view.type}) do "
            f"not match num inputs {len(inputs)}; return one gradient an input, None for none"
        )
    for i, (dx, x) in enumerate(zip(found, inputs, strict=True)):
        _check(dx, x, f"'{view.name}'", i)
    return found


def _check(dx: Any, x: Tensor, what: str, index: int) -> None:
    """Refuses a gradient of another shape or dtype than the input's."""
    if dx is None or isinstance(dx, IndexedSlices):
        return
    if not x.shape.is_compatible_with(dx.shape):
        raise ValueError(
            f"Incompatible shapes between op input and calculated input gradient. Forward "
            f"operation: {what}. Input index: {index}. Original input shape: {x.shape}. "
            f"Calculated input gradient shape: {dx.shape}"
        )
    if dx.dtype != x.dtype:
        raise TypeError(
            f"the gradient of {what} for input {index} is {dx.dtype.name}, the input is "
            f"{x.dtype.name}; tf.cast the gradient"
        )


# ---- of a function ----


@api_guard.guarded
def custom_gradient(f: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A decorator for a function that returns (its result, its gradient function).

    The gradient function takes one gradient for each tensor of the result and returns one for each
    tensor among the arguments, a list of them if there are several. Where f reads variables that
    are not arguments, it takes a keyword `variables`, a list of them, too, and returns (gradients
    by the arguments, gradients by the variables).

    Args:
        f: takes tensors, or structures of them, positionally; a method takes its object before.
            None: gives a decorator.

    Raises:
        ValueError: at a call, keyword arguments; at tf.gradients, another number of gradients.
        TypeError: at a call, f returns no pair, makes a variable without use_resource=True, or
            reads variables and its gradient function has no parameter `variables`.
    """
    if f is None:
        return custom_gradient
    function = f

    @functools.wraps(function)
    @source.locating
    def decorated(*arguments: Any, **options: Any) -> Any:
        if arguments and _is_method_of(arguments[0], function):
            return decorated_method(arguments[0])(*arguments[1:], **options)
        if options:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when "
                f"eager execution is enabled: {', '.join(options)}; give them by position, or "
                "close over them"
            )
        with scopes.get_default_graph().unchanged_on_error():
            return _applied(function, arguments)

    def decorated_method(instance: Any) -> Callable[..., Any]:
        return custom_gradient(functools.partial(function, instance))

    return decorated


def _is_method_of(value: Any, function: Callable[..., Any]) -> bool:
    """Whether a class of value has the function, decorated, as a method."""
    name, inner = getattr(function, "__name__", ""), inspect.unwrap(function)
    found = [vars(kind).get(name) for kind in type(value).__mro__]
    return any(callable(f) and inspect.unwrap(f) is inner for f in found)


def _applied(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    given = [_structured(x) for x in arguments]
    inputs = [array.identity(x) for x in nest.flatten(given)]
    known = set(variables_of(scopes.get_default_graph().root))
    returned = function(*nest.pack_sequence_as(given, inputs))
    _check_made(known, function)
    if not isinstance(returned, tuple) or len(returned) != 2 or not callable(returned[1]):
        raise TypeError(
            f"custom_gradient: {_name(function)} returned {returned!r}, expected a pair: its "
            "result and a function from the result's gradients to those of the arguments"
        )
    return _joined(function, inputs, *returned)


def _check_made(known: set[str], function: Callable[..., Any]) -> None:
    """Refuses variables that a function has made, as TensorFlow does, unless they are resources."""
    made = variables_of(scopes.get_default_graph().root)
    plain = [name for name, v in made.items() if name not in known and not v.use_resource]
    if plain:
        raise TypeError(
            "All variables used by a function wrapped with @custom_gradient must be "
            f"`ResourceVariable`s: {_name(function)} makes {', '.join(plain)}; make them with "
            "use_resource=True, or outside of the function"
        )


def _structured(argument: Any) -> Any:
    """An argument as a tensor; of a structure of tensors, or an empty one, the structure."""
    parts = nest.flatten(argument)
    if nest.is_nested(argument) and (not parts or any(map(Tensor.is_like, parts))):
        return nest.map_structure(convert_to_tensor, argument)
    return convert_to_tensor(argument)


def _joined(
    function: Callable[..., Any], inputs: list[Tensor], result: Any, gradient: Callable[..., Any]
) -> Any:
    inner = [convert_to_tensor(x) for x in nest.flatten(result)]
    variables = variables_between(inputs, inner)
    names_variables = _takes_variables(gradient)
    if variables and not names_variables:
        raise TypeError(
            "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since "
            f"{_name(function)} uses variables: {', '.join(v.name for v in variables)}; or pass "
            "them to it as arguments"
        )
    graph = scopes.get_default_graph()
    outputs = [
        graph.add_operation("Identity", [t], [(t.dtype, t.shape)], tf_type="IdentityN").outputs[0]
        for t in inner
    ]

    def differentiate(arriving: Sequence[Any]) -> Sequence[Any]:
        if not variables:
            return _counted(_listed(gradient(*arriving)), inputs, function)
        by_inputs, by_variables = gradient(*arriving, variables=list(variables))
        found = _counted(_listed(by_inputs), inputs, function)
        return [*found, *_counted(_listed(by_variables), [v.snapshot for v in variables], function)]

    targets = [*inputs, *(v.snapshot for v in variables)]
    region = Region([t.op for t in outputs], targets, outputs, differentiate)
    regions = REGIONS.of(graph)
    regions.update(dict.fromkeys(region.operations, region))
    return nest.pack_sequence_as(result, outputs)


def variables_between(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> list[Variable]:
    """The variables on which outputs depend in another way than by inputs."""
    found: dict[Variable, None] = {}
    seen = set(inputs)
    pending = list(outputs)
    while pending:
        tensor = pending.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if tensor.op.op in ("Variable", "ReadVariable") and tensor.op.domain == "graphio":
            variable = variables_of(tensor.graph.root).get(tensor.op.attrs["variable"])
            if variable is not None and dtypes.carries_gradient(variable.dtype):
                found.setdefault(variable)
        pending.extend(t for t in sources(tensor.op) if t is not None)
    return list(reversed(found))


def _takes_variables(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)


def _counted(
    found: list[Any], inputs: Sequence[Tensor], function: Callable[..., Any]
) -> Sequence[Any]:
    if len(found) != len(inputs):
        raise ValueError(
            f"custom_gradient function expected to return {len(inputs)} gradients, but returned "
            f"{len(found)} instead: {_name(function)} takes {len(inputs)}; give one for each, None "
            "for none"
        )
    for i, (dx, x) in enumerate(zip(found, inputs, strict=True)):
        _check(dx, x, _name(function), i)
    return found


@api_guard.guarded
def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: the function's gradient is that of the identity, whatever it computes; the
    variables that it reads get none."""

    def passed(*dy: Any, variables: Sequence[Variable] = ()) -> Any:
        return (list(dy), [None] * len(variables)) if variables else list(dy)

    def with_gradient(*arguments: Any) -> Any:
        return f(*arguments), passed

    return custom_gradient(functools.wraps(f)(with_gradient))


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))


def _listed(found: Any) -> list[Any]:
    """The gradients that a function of the program returned, as tensors."""
    several = isinstance(found, (list, tuple)) and not isinstance(found, IndexedSlices)
    values = list(found) if several else [found]
    ready = (type(None), IndexedSlices)
    return [v if isinstance(v, ready) else convert_to_tensor(v) for v in values]
