"""cond, case and while_loop, lowered to ONNX's If and Loop; group and tuple.

A branch or body is a graph of its own whose outer values are captures. Its gradient is in
graphio.ops.control_flow_grad.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from graphio import dtypes, nest, scopes
from graphio.constants import constant, convert_to_tensor
from graphio.graph import Graph, Operation, Tensor
from graphio.indexed_slices import IndexedSlices
from graphio.ops import array
from graphio.tensor_shape import TensorShape

__all__ = ["case", "cond", "group", "no_op", "tuple", "while_loop", "with_dependencies"]


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing; its control inputs run first."""
    graph = scopes.get_default_graph()
    return graph.create_op("NoOp", [], [], domain="graphio", name=name or "NoOp")


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


def tuple(tensors: Sequence[Any], name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """The tensors, each of which waits for all of them.

    Args:
        tensors: tensors or IndexedSlices; None entries stay None.
        name: of the operations.
        control_inputs: further operations to wait for.

    Raises:
        ValueError: tensors holds no tensor.
    """
    present = [t for t in tensors if t is not None]
    if not present:
        raise ValueError("tuple: expected at least one tensor, got none")
    with scopes.name_scope(name, "tuple"):
        gates = [t.values if isinstance(t, IndexedSlices) else t for t in present]
        with scopes.control_dependencies([*gates, *(control_inputs or [])]):
            return [None if t is None else _identity(t) for t in tensors]


def with_dependencies(dependencies: Sequence[Any], tensor: Any, name: str | None = None) -> Any:
    """tensor, once the dependencies have run."""
    with scopes.control_dependencies(dependencies):
        return array.identity(tensor, name=name)


def _identity(value: Any) -> Any:
    if isinstance(value, IndexedSlices):
        return IndexedSlices(array.identity(value.values), value.indices, value.dense_shape)
    return array.identity(value)


def restoring() -> AbstractContextManager[None]:
    """A context of one call of control flow: if it fails, the graph is as it was before."""
    return scopes.get_default_graph().unchanged_on_error()


# ---- cond and case ----


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
) -> Any:
    """The result of true_fn if pred holds, else that of false_fn; only that branch runs.

    What a branch reads from outside is computed, and must be fed, whichever branch is taken.

    Args:
        pred: bool scalar tensor.
        true_fn: builds the branch taken when pred holds; no arguments.
        false_fn: builds the other one; the same structure and dtypes.
        strict: True keeps a list of one as a list.
        name: name scope of the operation.

    Returns:
        The structure that both branches return; a static dimension that differs is unknown.

    Raises:
        TypeError: pred is no bool tensor, or a branch is not callable.
        ValueError: the branches differ in structure or dtype, or return None.
    """
    for branch, label in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(branch):
            raise TypeError(f"cond: {label} is {type(branch).__name__}, expected a callable")
    assert true_fn is not None and false_fn is not None
    if isinstance(pred, (bool, np.bool_)):
        raise TypeError("cond: pred is a Python bool; use a Python if, or a bool tensor")
    condition = convert_to_tensor(pred)
    if condition.dtype != dtypes.bool:
        raise TypeError(f"cond: pred '{condition.name}' is {condition.dtype.name}, expected bool")
    if condition.shape.ndims not in (None, 0):
        raise ValueError(f"cond: pred '{condition.name}' has shape {condition.shape}, expected ()")
    with restoring(), scopes.name_scope(name, "cond"):
        then_graph, then_result = _build_branch(true_fn, "true")
        else_graph, else_result = _build_branch(false_fn, "false")
        specs = _agree(then_graph, then_result, else_graph, else_result)
        operation = scopes.get_default_graph().create_op(
            "If",
            [condition],
            specs,
            {"then_branch": then_graph, "else_branch": else_graph},
            name="If",
        )
    outputs = list(operation.outputs)
    result = _fill(then_result, outputs, operation)
    if not strict and isinstance(result, (list, builtins.tuple)) and len(result) == 1:
        return result[0]
    return result


def _build_branch(function: Callable[[], Any], name: str) -> builtins.tuple[Graph, Any]:
    """Builds one branch; operations among its results run as the branch's targets."""
    graph = Graph(outer=scopes.get_default_graph())
    with graph.as_body(), scopes.name_scope(name):
        result = function()
        if result is None:
            raise ValueError(
                f"cond: {name}_fn returned None; return a tensor, an operation or a structure"
            )
        leaves: list[Operation | Tensor] = []
        for leaf in nest.flatten(result):
            if isinstance(leaf, Operation):
                graph.targets.append(leaf)
                leaves.append(leaf)
            else:
                tensor = convert_to_tensor(leaf)
                leaves.append(tensor)
                graph.outputs.append(tensor)
        return graph, nest.pack_sequence_as(result, leaves)


def _agree(
    one: Graph, first: Any, two: Graph, second: Any
) -> list[builtins.tuple[Any, TensorShape]]:
    try:
        nest.assert_same_structure(first, second)
    except ValueError as error:
        raise ValueError(
            f"cond: true_fn and false_fn return different structures: {error}"
        ) from None
    kinds = [
        [isinstance(leaf, Operation) for leaf in nest.flatten(result)] for result in (first, second)
    ]
    if kinds[0] != kinds[1]:
        raise ValueError("cond: one branch returns an operation where the other returns a tensor")
    specs = []
    for i, (a, b) in enumerate(zip(one.outputs, two.outputs, strict=True)):
        if a.dtype != b.dtype:
            raise ValueError(
                f"cond: output {i} is {a.dtype.name} ('{a.name}') in true_fn and {b.dtype.name} "
                f"('{b.name}') in false_fn; cast one of them"
            )
        specs.append((a.dtype, common_shape(a.shape, b.shape)))
    return specs


def _fill(structure: Any, outputs: list[Tensor], operation: Operation) -> Any:
    """structure with the If's outputs for tensors and the If itself for operations."""
    remaining = iter(outputs)
    leaves = [
        operation if isinstance(leaf, Operation) else next(remaining)
        for leaf in nest.flatten(structure)
    ]
    return nest.pack_sequence_as(structure, leaves)


def common_shape(a: TensorShape, b: TensorShape) -> TensorShape:
    """What two shapes have in common: a dimension that differs is unknown."""
    if a.ndims is None or a.ndims != b.ndims:
        return TensorShape(None)
    pairs = zip(a.as_list(), b.as_list(), strict=True)
    return TensorShape([m if m == n else None for m, n in pairs])


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
        default: callable for when none holds; None: the last function stands for it.
        exclusive: accepted; the first that holds wins.
        strict: as cond's.
        name: name scope.

    Raises:
        TypeError: the pairs are malformed.
        ValueError: there are none.
    """
    pairs = (
        list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, Mapping) else list(pred_fn_pairs)
    )
    for pair in pairs:
        if not isinstance(pair, builtins.tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(f"case: expected pairs (pred, callable), got {pair!r}")
    if not pairs:
        raise ValueError("case: expected at least one (pred, callable) pair")
    if default is None:
        default = pairs[-1][1]

    def chain(rest: list[Any]) -> Any:
        if not rest:
            return default()
        predicate, function = rest[0]
        return cond(predicate, function, lambda: chain(rest[1:]), strict=strict)

    with restoring(), scopes.name_scope(name, "case"):
        return chain(pairs)


# ---- while_loop ----


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Runs body as long as cond holds.

    Args:
        cond: loop variables to bool scalar tensor; built twice, before the loop and in it.
        body: loop variables to their next values, in the same structure and dtypes.
        loop_vars: list, tuple or structure of tensors, or one tensor.
        shape_invariants: structure of TensorShapes that hold in every iteration; default: the
            shapes of loop_vars.
        parallel_iterations: accepted; iterations run in order.
        back_prop: accepted; what the backward pass needs is kept only when it is built.
        swap_memory: accepted.
        name: name scope of the loop.
        maximum_iterations: int or int scalar tensor; None: no limit.
        return_same_structure: True keeps a list of one as a list.

    Returns:
        The final loop variables in loop_vars' structure; one alone comes as a tensor.

    Raises:
        TypeError: cond or body is not callable, or a next value has another dtype.
        ValueError: no loop variables, another number of results, or a shape that does not hold.
    """
    if not callable(cond):
        raise TypeError(f"while_loop: cond is {type(cond).__name__}, expected a callable")
    if not callable(body):
        raise TypeError(f"while_loop: body is {type(body).__name__}, expected a callable")
    structure = loop_vars if isinstance(loop_vars, (list, builtins.tuple)) else [loop_vars]
    if not nest.flatten(structure):
        raise ValueError("while_loop: expected at least one loop variable")
    with restoring(), scopes.name_scope(name, "while"):
        initial = [convert_to_tensor(v) for v in nest.flatten(structure)]
        invariants = _invariants(structure, initial, shape_invariants)
        graph = scopes.get_default_graph()
        limit = _limit(maximum_iterations)
        first = _condition(cond, nest.pack_sequence_as(structure, initial))
        loop = Graph(outer=graph)
        with loop.as_body(), scopes.name_scope("body"):
            loop.add_input(dtypes.int64, TensorShape([]), "iteration")
            loop.add_input(dtypes.bool, TensorShape([]), "condition")
            carried = [
                loop.add_input(v.dtype, shape, f"loop_var_{i}")
                for i, (v, shape) in enumerate(zip(initial, invariants, strict=True))
            ]
            arguments = nest.pack_sequence_as(structure, carried)
            following = _next_values(body(*arguments), structure, carried, shape_invariants)
            again = _condition(cond, nest.pack_sequence_as(structure, following))
            loop.outputs.extend([again, *following])
        operation = graph.create_op(
            "Loop",
            [limit, first, *initial],
            [(t.dtype, shape) for t, shape in zip(initial, invariants, strict=True)],
            {"body": loop},
            name="Loop",
            tf_type="While",
        )
    result = nest.pack_sequence_as(structure, list(operation.outputs))
    if len(nest.flatten(structure)) == 1 and not return_same_structure:
        return nest.flatten(result)[0]
    return result


def _invariants(structure: Any, initial: list[Tensor], given: Any) -> list[TensorShape]:
    if given is None:
        return [t.shape for t in initial]
    shapes = given if isinstance(given, (list, builtins.tuple)) else [given]
    flat = [s if isinstance(s, TensorShape) else TensorShape(s) for s in _flat_shapes(shapes)]
    if len(flat) != len(initial):
        raise ValueError(
            f"while_loop: {len(initial)} loop variables but {len(flat)} shape_invariants"
        )
    for tensor, shape in zip(initial, flat, strict=True):
        if not shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"while_loop: the shape invariant {shape} does not hold for the initial value "
                f"'{tensor.name}' of shape {tensor.shape}"
            )
    return flat


def _flat_shapes(shapes: Any) -> list[Any]:
    flat: list[Any] = []
    for shape in shapes:
        nested = isinstance(shape, (list, builtins.tuple)) and any(
            isinstance(s, (TensorShape, list, builtins.tuple)) for s in shape
        )
        flat.extend(_flat_shapes(shape) if nested else [shape])
    return flat


def _limit(maximum: Any) -> Tensor | None:
    if maximum is None:
        return None
    tensor = convert_to_tensor(maximum)
    if tensor.dtype not in (dtypes.int32, dtypes.int64) or tensor.shape.ndims not in (None, 0):
        raise TypeError(
            f"while_loop: maximum_iterations is {tensor.dtype.name}{tensor.shape}, expected an "
            "integer scalar"
        )
    if tensor.dtype == dtypes.int64:
        return tensor
    from graphio.ops import math

    return math.cast(tensor, dtypes.int64)


def _condition(function: Callable[..., Any], arguments: Any) -> Tensor:
    value = function(*arguments)
    if isinstance(value, (bool, np.bool_)):
        value = constant(bool(value))
    tensor = convert_to_tensor(value)
    if tensor.dtype != dtypes.bool:
        raise TypeError(f"while_loop: cond returned {tensor.dtype.name}, expected bool")
    if tensor.shape.ndims not in (None, 0):
        raise ValueError(f"while_loop: cond returned shape {tensor.shape}, expected a scalar ()")
    return tensor


def _next_values(
    result: Any, structure: Any, carried: list[Tensor], invariants: Any
) -> list[Tensor]:
    """Body's results as tensors, checked against the loop variables."""
    given = result if isinstance(result, (list, builtins.tuple)) else [result]
    found = nest.flatten(given)
    if len(found) != len(carried):
        raise ValueError(
            f"while_loop: body returned {len(found)} values for {len(carried)} loop variables"
        )
    if len(nest.flatten(structure)) > 1:
        nest.assert_same_structure(list(structure), list(given))
    following = []
    for i, (value, variable) in enumerate(zip(found, carried, strict=True)):
        tensor = convert_to_tensor(value, preferred_dtype=variable.dtype)
        if tensor.dtype != variable.dtype:
            raise TypeError(
                f"while_loop: loop variable {i} is {variable.dtype.name}, but body returned "
                f"{tensor.dtype.name} ('{tensor.name}'); cast it"
            )
        if not holds(variable.shape, tensor.shape):
            advice = (
                "the shape invariant given does not hold"
                if invariants is not None
                else "give shape_invariants with None where the shape changes"
            )
            raise ValueError(
                f"while_loop: loop variable {i} enters an iteration with shape {variable.shape} "
                f"and leaves it with {tensor.shape} ('{tensor.name}'); {advice}"
            )
        following.append(tensor)
    return following


def holds(invariant: TensorShape, shape: TensorShape) -> bool:
    """Whether every value of `shape` also satisfies `invariant`."""
    if invariant.ndims is None:
        return True
    if shape.ndims != invariant.ndims:
        return False
    pairs = zip(invariant.as_list(), shape.as_list(), strict=True)
    return all(want is None or want == got for want, got in pairs)


# ---- scan ----

Way = builtins.tuple[int, bool]  # an axis, and whether it runs backward


def scan_node(
    body: Callable[
        [list[Tensor], list[Tensor]], builtins.tuple[Sequence[Tensor], Sequence[Tensor]]
    ],
    state: Sequence[Tensor],
    inputs: Sequence[Tensor],
    cuts: Sequence[Way] | None = None,
    joins: Sequence[Way] | None = None,
    name: str = "Scan",
) -> list[Tensor]:
    """One Scan node: the body runs once for every piece of the inputs.

    Args:
        body: from the state and one piece of each input to the next state and the outputs.
        state: its first value; dtypes and shapes stay.
        inputs: what is cut, at least one.
        cuts: how each input is cut; None: along axis 0, forward.
        joins: the same for the outputs.
        name: of the node.

    Returns:
        The last state, then the joined outputs.
    """
    outer = scopes.get_default_graph()
    cuts = [(0, False)] * len(inputs) if cuts is None else list(cuts)
    graph = Graph(outer=outer)
    with graph.as_body(), scopes.name_scope("body"):
        carried = [graph.add_input(s.dtype, s.shape, f"state_{i}") for i, s in enumerate(state)]
        pieces = [
            graph.add_input(x.dtype, _without(x.shape, axis), f"piece_{i}")
            for i, (x, (axis, _)) in enumerate(zip(inputs, cuts, strict=True))
        ]
        following, outputs = body(carried, pieces)
        graph.outputs.extend([*following, *outputs])
    joins = [(0, False)] * len(outputs) if joins is None else list(joins)
    specs = [(s.dtype, s.shape) for s in state]
    specs += [(y.dtype, _with(y.shape, axis)) for y, (axis, _) in zip(outputs, joins, strict=True)]
    operation = outer.create_op(
        "Scan", [*state, *inputs], specs, scan_attributes(graph, cuts, joins), name=name
    )
    return list(operation.outputs)


def scan_attributes(body: Graph, cuts: Sequence[Way], joins: Sequence[Way]) -> dict[str, object]:
    """The attributes of a Scan."""
    found: dict[str, object] = {"body": body, "num_scan_inputs": len(cuts)}
    for key, ways in (("scan_input", cuts), ("scan_output", joins)):
        if ways:
            found[f"{key}_axes"] = [axis for axis, _ in ways]
            found[f"{key}_directions"] = [int(backward) for _, backward in ways]
    return found


def _without(shape: TensorShape, axis: int) -> TensorShape:
    if shape.ndims is None:
        return TensorShape(None)
    dims = shape.as_list()
    del dims[axis]
    return TensorShape(dims)


def _with(shape: TensorShape, axis: int) -> TensorShape:
    if shape.ndims is None:
        return TensorShape(None)
    dims = shape.as_list()
    dims.insert(axis % (len(dims) + 1), None)
    return TensorShape(dims)
