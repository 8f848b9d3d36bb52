"""cond and case, lowered to ONNX's If; group and tuple.

A branch or body is a separate graph whose outer values are captures. Its gradient is in
graphio.ops.control_flow.gradients.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from graphio.framework import carrying, dtypes, nest, registered, scopes
from graphio.framework.carrying import Late, Part
from graphio.framework.composite import Composite
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.graph_state import bodies
from graphio.framework.indexed_slices import IndexedSlices
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.variable import variables_of
from graphio.framework.variable_reads import into_bodies
from graphio.ops.array import surface as array
from graphio.ops.base import primitive
from graphio.ops.checks.assertion import Assert
from graphio.ops.control_flow.branch_values import BranchValues
from graphio.ops.math import comparison, elementwise
from graphio.support import api_guard

__all__ = [
    "case",
    "cond",
    "group",
    "no_op",
    "smart_cond",
    "switch_case",
    "tuple",
    "with_dependencies",
]

_CHAIN = 6  # branches that are tried one in the other; bodies nest only so deep


@api_guard.operator
def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing; its control inputs run first."""
    graph = scopes.get_default_graph()
    return graph.add_operation("NoOp", [], [], domain="graphio", name=name or "NoOp")


@api_guard.operator
def group(*inputs: Any, name: str | None = None) -> Operation:
    """An operation that is done when all inputs are.

    Args:
        inputs: operations, tensors, variables or lists of them.
        name: of the operation.

    Returns:
        The operation; running it gives None.

    Raises:
        TypeError: an input is none of these.
    """
    with scopes.control_dependencies(nest.flatten(list(inputs))):
        return no_op(name or "group_deps")


@api_guard.operator
def tuple(tensors: Sequence[Any], name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """The tensors, each of which waits for all of them.

    Args:
        tensors: tensors, IndexedSlices or SparseTensors; None entries stay None.
        name: of the operations.
        control_inputs: further operations to wait for.

    Raises:
        ValueError: tensors holds no tensor.
    """
    present = [t for t in tensors if t is not None]
    if not present:
        raise ValueError("tuple: expected at least one tensor, got none")
    with scopes.name_scope(name, "tuple"):
        gates = [t.values if isinstance(t, Composite) else t for t in present]
        with scopes.control_dependencies([*gates, *(control_inputs or [])]):
            return [None if t is None else _identity(t) for t in tensors]


def with_dependencies(
    dependencies: Sequence[Any], output_tensor: Any, name: str | None = None
) -> Any:
    """output_tensor, once the dependencies have run; on its device."""
    with scopes.colocate_with(output_tensor), scopes.control_dependencies(dependencies):
        return array.identity(output_tensor, name=name)


def _identity(value: Any) -> Any:
    if isinstance(value, Composite):
        return value.with_values(array.identity(value.values))
    return array.identity(value)


def restoring() -> AbstractContextManager[None]:
    """A context of one call of control flow: if it fails, the graph is as it was before."""
    return scopes.get_default_graph().unchanged_on_error()


def read_what_they_assign(*bodies: Graph) -> None:
    """Has the bodies of an operation to be read inside the variables that one of them assigns."""
    into_bodies(variables_of(bodies[0].root), *bodies)


# ---- cond and case ----


@api_guard.operator
def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """The result of true_fn if pred holds, else that of false_fn; only that branch runs.

    What a branch reads from outside is computed, and must be fed, whichever branch is taken.

    Args:
        pred: bool scalar tensor.
        true_fn: builds the branch taken when pred holds; no arguments.
        false_fn: builds the other one; the same structure and dtypes.
        strict: True keeps a list of one as a list.
        name: name scope of the operation.
        fn1, fn2: older names of true_fn and false_fn.

    Returns:
        The structure that both branches return; a static dimension that differs is unknown. An
        operation comes as a bool tensor, pred.

    Raises:
        TypeError: pred is not a bool tensor, a branch is not callable, or one returns a list where
            the other returns a tuple.
        ValueError: the branches differ in structure or dtype, or return None.
    """
    true_fn = _either(true_fn, fn1, "true_fn", "fn1")
    false_fn = _either(false_fn, fn2, "false_fn", "fn2")
    if isinstance(pred, bool):
        raise TypeError("cond: pred is a Python bool; use a Python if, or a bool tensor")
    condition = convert_to_tensor(pred)
    if condition.dtype != dtypes.bool:
        raise TypeError(f"cond: pred '{condition.name}' is {condition.dtype.name}, expected bool")
    if condition.shape.ndims not in (None, 0):
        raise ValueError(f"cond: pred '{condition.name}' has shape {condition.shape}, expected ()")
    with restoring(), scopes.name_scope(name, "cond"):
        values = BranchValues()
        yes = _build_branch(true_fn, True, strict, values)
        no = _build_branch(false_fn, False, strict, values)
        specs = _agree(yes, no, condition.shape)
        if not specs:
            return yes.result
        read_what_they_assign(yes.graph, no.graph)
        operation = scopes.get_default_graph().add_operation(
            "If",
            [condition],
            specs,
            {"then_branch": yes.graph, "else_branch": no.graph},
            name="If",
        )
        values.op = operation
        return _filled(yes, no, list(operation.outputs))


def _either(
    function: Callable[[], Any] | None, older: Callable[[], Any] | None, label: str, old_label: str
) -> Callable[[], Any]:
    if function is not None and older is not None:
        raise TypeError(f"cond: {label} and {old_label} are one argument; give {label}")
    chosen = older if function is None else function
    if not callable(chosen):
        raise TypeError(f"cond: {label} is {type(chosen).__name__}, expected a callable")
    return chosen


class _Branch(NamedTuple):
    graph: Graph
    result: Any  # its structure
    leaves: list[Any]
    parts: list[list[Part]]  # of each leaf
    operations: list[bool]  # whether each leaf stands for an operation


def _build_branch(
    function: Callable[[], Any], truth: bool, strict: bool, values: BranchValues
) -> _Branch:
    """Builds one branch. An operation among its results runs with it, and stands for its truth."""
    name = "true" if truth else "false"
    graph = Graph(outer=scopes.get_default_graph())
    values.add(graph)
    with graph.as_body(), scopes.name_scope(name):
        result = function()
        if result is None:
            raise ValueError(
                f"cond: {name}_fn returned None; return a tensor, an operation or a structure"
            )
        result = result if strict else _alone(result)
        given = nest.flatten(result)
        operations = [isinstance(leaf, Operation) for leaf in given]
        leaves = [
            _done(leaf, truth) if done else leaf
            for leaf, done in zip(given, operations, strict=True)
        ]
        parts = [[_within(graph, part) for part in carrying.parts(leaf)] for leaf in leaves]
        return _Branch(graph, result, leaves, parts, operations)


def _within(branch: Graph, part: Part) -> Part:
    """A result as the branch may read it: it may be of the other one."""
    return bodies.resolve(branch, part) if isinstance(part, Tensor) else part


def _alone(result: Any) -> Any:
    one = isinstance(result, (list, builtins.tuple)) and len(result) == 1
    return result[0] if one else result


def _done(operation: Operation, truth: bool) -> Tensor:
    body = scopes.get_default_graph()
    with scopes.control_dependencies([operation]):
        if operation.graph is body:
            body.targets.append(operation)
        return constant(truth)


def _agree(
    one: _Branch, two: _Branch, of_pred: TensorShape
) -> list[builtins.tuple[Any, TensorShape]]:
    """Dtypes and shapes that both branches give; their graphs get the outputs. What stands for an
    operation is known to be a scalar where pred is."""
    try:
        nest.assert_same_structure(one.result, two.result)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"cond: true_fn and false_fn return different structures: {error}"
        ) from None
    specs = []
    for i, (a, b) in enumerate(zip(one.parts, two.parts, strict=True)):
        kinds = [carrying.kind_name(branch.leaves[i]) for branch in (one, two)]
        if kinds[0] != kinds[1] or len(a) != len(b):
            raise ValueError(
                f"cond: true_fn and false_fn return different structures: output {i} is "
                f"{kinds[0]} of {len(a)} parts in true_fn and {kinds[1]} of "
                f"{len(b)} in false_fn"
            )
        for k in range(len(a)):
            if isinstance(a[k], Late) and isinstance(b[k], Late):
                continue  # has no shape yet, and is the same in both
            yes, no = _settled(one, a[k], b[k]), _settled(two, b[k], a[k])
            if k == 1 and isinstance(one.leaves[i], IndexedSlices) and yes.dtype != no.dtype:
                yes, no = _of_int64(one, yes), _of_int64(two, no)
            if yes.dtype != no.dtype:
                raise ValueError(
                    f"cond: output {i} is {yes.dtype.name} ('{yes.name}') in true_fn and "
                    f"{no.dtype.name} ('{no.name}') in false_fn; cast one of them"
                )
            a[k] = yes
            one.graph.outputs.append(yes)
            two.graph.outputs.append(no)
            shape = common_shape(yes.shape, no.shape)
            specs.append((yes.dtype, of_pred if one.operations[i] else shape))
    return specs


def _settled(branch: _Branch, part: Part, other: Part) -> Tensor:
    """The part as a tensor; what has no shape yet takes the other branch's."""
    if isinstance(part, Tensor):
        return part
    with branch.graph.as_body():
        return part.make(other.shape)


def _of_int64(branch: _Branch, indices: Tensor) -> Tensor:
    with branch.graph.as_body():
        return primitive.cast(indices, dtypes.int64)


def _filled(like: _Branch, other: _Branch, outputs: list[Tensor]) -> Any:
    """The If's outputs in the structure of both branches."""
    remaining = iter(outputs)
    leaves = [
        carrying.assemble(leaf, [p if isinstance(p, Late) else next(remaining) for p in parts])
        for leaf, parts in zip(like.leaves, like.parts, strict=True)
    ]
    for made, one, two in zip(leaves, like.leaves, other.leaves, strict=True):
        if isinstance(made, SparseTensor):
            made.set_shape(common_shape(one.shape, two.shape))
    return nest.pack_sequence_as(like.result, leaves)


def common_shape(a: TensorShape, b: TensorShape) -> TensorShape:
    """The shape that two shapes have in common: a dimension that differs is unknown."""
    if a.ndims is None or a.ndims != b.ndims:
        return TensorShape(None)
    pairs = zip(a.as_list(), b.as_list(), strict=True)
    return TensorShape([m if m == n else None for m, n in pairs])


@api_guard.operator
def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The result of the first function whose predicate holds, else of default.

    Args:
        pred_fn_pairs: list of (bool scalar tensor, callable), or a dict of them.
        default: callable for when none holds; None: then the run fails.
        exclusive: True: the run fails if several hold.
        strict: as cond's.
        name: name scope.

    Raises:
        TypeError: the pairs are malformed, or default is not callable.
        ValueError: there are neither pairs nor a default.
        InvalidArgumentError: of the run, none holds and there is no default, or several hold.
    """
    pairs = _pairs(pred_fn_pairs)
    if default is not None and not callable(default):
        raise TypeError(f"case: default is {type(default).__name__}, expected a callable")
    if not pairs:
        if default is None:
            raise ValueError("case: expected at least one (pred, callable) pair")
        return default()
    with restoring(), scopes.name_scope(name, "case"):
        waits = []
        if exclusive:
            held = [primitive.cast(pred, dtypes.int64) for pred, _ in pairs]
            one = comparison.less_equal(elementwise.add_n(held), constant(1, dtypes.int64))
            waits.append(_checked(one, "Input error: exclusive=True: more than 1 predicate holds"))
        *rest, (last, function) = pairs
        if default is None:
            default = _only_if(last, function)
        else:
            rest = pairs

        with scopes.control_dependencies(waits):
            return _first_that_holds(rest, default, strict)


def _first_that_holds(pairs: list[Any], default: Callable[[], Any], strict: bool) -> Any:
    """Branches in branches; of many the half first, since bodies nest only so deep."""
    if not pairs:
        return default()
    if len(pairs) <= _CHAIN:
        predicate, chosen = pairs[0]
        return cond(
            predicate, chosen, lambda: _first_that_holds(pairs[1:], default, strict), strict=strict
        )
    middle = len(pairs) // 2
    *before, (held, last) = pairs[:middle]
    for predicate, _ in before:
        held = comparison.logical_or(held, predicate)
    return cond(
        held,
        lambda: _first_that_holds(before, last, strict),
        lambda: _first_that_holds(pairs[middle:], default, strict),
        strict=strict,
    )


def _pairs(given: Any) -> list[builtins.tuple[Tensor, Callable[[], Any]]]:
    if not isinstance(given, (list, builtins.tuple, Mapping)):
        raise TypeError("case: pred_fn_pairs must be a list, tuple, or dict")
    pairs = []
    for pair in given.items() if isinstance(given, Mapping) else given:
        if not isinstance(pair, builtins.tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(f"case: expected pairs (pred, callable), got {pair!r}")
        if isinstance(pair[0], (bool, np.bool_)):
            raise TypeError("case: a predicate is a Python bool; use a bool tensor")
        predicate = convert_to_tensor(pair[0])
        if predicate.dtype != dtypes.bool:
            raise TypeError(
                f"case: predicate '{predicate.name}' is {predicate.dtype.name}, expected bool"
            )
        pairs.append((predicate, pair[1]))
    return pairs


def _only_if(predicate: Tensor, function: Callable[[], Any]) -> Callable[[], Any]:
    """The function, whose results wait for a check that the predicate holds."""

    def checked() -> Any:
        check = _checked(predicate, "None of the conditions evaluated as True")
        with scopes.control_dependencies([check]):
            return nest.map_structure(
                lambda leaf: group(leaf) if isinstance(leaf, Operation) else _identity(leaf),
                function(),
            )

    return checked


def _checked(condition: Tensor, message: str) -> Operation:
    return Assert(condition, [f"case: {message}"])


@api_guard.operator
def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The result of the function of a number, else of default.

    Args:
        branch_index: int32 scalar tensor.
        branch_fns: list of callables, or list or dict of callables by number, 0 to n - 1.
        default: callable for other numbers; None: the last function.
        name: name scope.

    Raises:
        TypeError: branch_index is not a tensor of ints, or a branch is not callable.
        ValueError: there are no functions, or the numbers are not 0 to n - 1.
    """
    if not isinstance(branch_index, Tensor) or not branch_index.dtype.is_integer:
        raise TypeError(f"branch_index must be a Tensor of integers, got {branch_index!r}")
    functions = _numbered(branch_fns)
    if default is not None and not callable(default):
        raise TypeError(f"switch_case: default is {type(default).__name__}, expected a callable")
    with restoring(), scopes.name_scope(name, "switch_case"):
        last = functions.pop() if default is None else default

        if len(functions) > _CHAIN:
            return _by_halves(branch_index, [*functions, last])

        def chain(number: int) -> Any:
            if number == len(functions):
                return last()
            here = comparison.equal(branch_index, constant(number, branch_index.dtype))
            return cond(here, functions[number], lambda: chain(number + 1))

        return chain(0)


def _by_halves(index: Tensor, functions: list[Callable[[], Any]]) -> Any:
    """The result of the function of a number, the last one's where there is none."""
    count = constant(len(functions) - 1, index.dtype)
    inside = comparison.logical_and(
        comparison.less(index, count), comparison.greater_equal(index, constant(0, index.dtype))
    )
    number = array.where(inside, index, count)

    def among(first: int, end: int) -> Any:
        if end - first == 1:
            return functions[first]()
        middle = (first + end) // 2
        below = comparison.less(number, constant(middle, index.dtype))
        return cond(below, lambda: among(first, middle), lambda: among(middle, end))

    return among(0, len(functions))


def _numbered(branch_fns: Any) -> list[Callable[[], Any]]:
    if not isinstance(branch_fns, (list, builtins.tuple, Mapping)):
        raise TypeError("branch_fns must be a list, tuple, or dict")
    if not branch_fns:
        raise ValueError("Must provide at least one item in branch_fns")
    given = list(branch_fns.items() if isinstance(branch_fns, Mapping) else branch_fns)
    if all(callable(function) for function in given):
        given = list(enumerate(given))
    for pair in given:
        if not isinstance(pair, builtins.tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(f"branch_fns: expected callables or (int, callable), got {pair!r}")
    if sorted(number for number, _ in given) != list(range(len(given))):
        raise ValueError(
            f"branch indices must form contiguous range of [0 to {len(given)}), but found "
            f"{{{sorted(number for number, _ in given)}}}"
        )
    return [function for _, function in sorted(given, key=lambda pair: pair[0])]


@api_guard.operator
def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """As cond, but calls one function alone where pred is known while the graph is built.

    Args:
        pred: bool, 0 or 1, or a bool scalar tensor.
        true_fn, false_fn: as cond's.
        name: name scope.

    Raises:
        TypeError: a branch is not callable, or pred is not a bool.
    """
    yes = _either(true_fn, None, "true_fn", "fn1")
    no = _either(false_fn, None, "false_fn", "fn2")
    known = pred
    if isinstance(pred, Tensor):
        known = constant_value(pred)
        if known is None:
            return cond(pred, yes, no, name=name)
    elif pred not in (0, 1):
        raise TypeError(f"smart_cond: pred is {pred!r}, expected a bool or a bool tensor")
    return yes() if known else no()


registered.cond.register(cond)
