"""while_loop, lowered to ONNX's Loop, and the Scan node under scan, map_fn and folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from graphio.framework import carrying, dtypes, nest, scopes
from graphio.framework.carrying import Late, Part
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Graph, Tensor
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.framework.tensor_spec import TensorSpec
from graphio.ops.array.reshaping import stop_gradient
from graphio.ops.base import primitive
from graphio.ops.control_flow.branches import read_what_they_assign, restoring
from graphio.ops.control_flow.copying import inlined
from graphio.support import api_guard

__all__ = ["while_loop"]


class LoopTypeError(TypeError, ValueError):
    """A loop variable leaves an iteration with another dtype: what shapes do is a ValueError."""


@api_guard.operator
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
        cond: loop variables to bool scalar tensor.
        body: loop variables to their next values, in the same structure and dtypes.
        loop_vars: list, tuple or structure of tensors, IndexedSlices or TensorArrays; or one.
        shape_invariants: structure of TensorShapes or TensorSpecs that hold in every iteration;
            default: the shapes of loop_vars.
        parallel_iterations: accepted; iterations run in order.
        back_prop: False: no gradient passes through the loop. What the backward pass needs is
            kept only when it is built.
        swap_memory: accepted.
        name: name scope of the loop.
        maximum_iterations: int or int scalar tensor; None: no limit.
        return_same_structure: True keeps a list of one as a list.

    Returns:
        The final loop variables in the structure that body returns; one alone comes as it is.

    Raises:
        TypeError: cond or body is not callable, or a next value has another dtype.
        ValueError: no loop variables, another number of results, or a shape that does not hold.
    """
    if not callable(cond):
        raise TypeError(f"while_loop: cond is {type(cond).__name__}, expected a callable")
    if not callable(body):
        raise TypeError(f"while_loop: body is {type(body).__name__}, expected a callable")
    if isinstance(parallel_iterations, int) and parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    structure = loop_vars if isinstance(loop_vars, (list, tuple)) else [loop_vars]
    leaves = nest.flatten(structure)
    if not leaves:
        raise ValueError("while_loop: expected at least one loop variable")
    with restoring(), scopes.name_scope(name, "while"):
        entering = [carrying.parts(leaf) for leaf in leaves]
        invariants = _invariants(structure, entering, shape_invariants)
        limit = _limit(maximum_iterations)
        test = _test(cond, structure, leaves, entering, invariants)
        loop = Graph(outer=scopes.get_default_graph())
        with loop.as_body(), scopes.name_scope("body"):
            loop.add_input(dtypes.int64, TensorShape([]), "iteration")
            loop.add_input(dtypes.bool, TensorShape([]), "condition")
            carried = _formals(loop, entering, invariants)
            result = body(*_packed(structure, leaves, carried))
            given = list(result) if isinstance(result, (list, tuple)) else [result]
            found = _next_values(given, structure, leaves, entering, carried, shape_invariants)
            following = [t for values in found for t in values]
            loop.outputs.extend(following)
            read_what_they_assign(test, loop)
            loop.outputs[:0] = inlined(test, loop.outputs)
        final = _loop_node(loop, test, limit, entering, carried)
        if not back_prop:
            final = [[constant_to_gradients(part) for part in parts] for parts in final]
        made = [carrying.assemble(*v) for v in zip(nest.flatten(given), final, strict=True)]
    packed = nest.pack_sequence_as(result if isinstance(result, (list, tuple)) else structure, made)
    return packed[0] if len(made) == 1 and not return_same_structure else packed


def kernel_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any) -> Any:
    """A while_loop in the place of one kernel of TensorFlow's: of the type Loop, not While, so that
    programs do not see a loop that they have not written."""
    graph = scopes.get_default_graph()
    before = len(graph.operations)
    found = while_loop(cond, body, loop_vars)
    for made in graph.operations[before:]:
        if made.op == "Loop":
            made.tf_type = None
    return found


def constant_to_gradients(part: Part) -> Part:
    """A value that leaves a loop through which no gradient passes."""
    flows = isinstance(part, Tensor) and dtypes.carries_gradient(part.dtype)
    return stop_gradient(part) if flows else part


def _packed(structure: Any, leaves: list[Any], tensors: Sequence[Sequence[Part]]) -> Any:
    """Arguments of cond and body: leaves like the ones given, of other tensors."""
    made = [carrying.assemble(*pair) for pair in zip(leaves, tensors, strict=True)]
    return nest.pack_sequence_as(structure, made)


def _formals(
    loop: Graph, entering: list[list[Part]], invariants: list[list[TensorShape]]
) -> list[list[Tensor]]:
    carried: list[list[Tensor]] = []
    for parts, shapes in zip(entering, invariants, strict=True):
        made: list[Tensor] = []
        for part, shape in zip(parts, shapes, strict=True):
            label = f"loop_var_{sum(map(len, carried)) + len(made)}"
            made.append(loop.add_input(part.dtype, shape, label))
        carried.append(made)
    return carried


def _loop_node(
    loop: Graph,
    test: Graph,
    limit: Tensor | None,
    entering: list[list[Part]],
    carried: list[list[Tensor]],
) -> list[list[Part]]:
    """The Loop: the last values of the loop variables, or what still has no shape."""
    formals = [t for tensors in carried for t in tensors]
    parts = [part for parts in entering for part in parts]
    initial = [
        part if isinstance(part, Tensor) else part.make(formal.shape)
        for part, formal in zip(parts, formals, strict=True)
    ]
    operation = scopes.get_default_graph().add_operation(
        "Loop",
        [limit, *inlined(test, initial), *initial],
        [(t.dtype, t.shape) for t in formals],
        {"body": loop},
        name="Loop",
        tf_type="While",
    )
    leaving = loop.outputs[1:]
    found: Iterator[Part] = (
        part if isinstance(part, Late) and after is formal and y.shape.ndims is None else y
        for y, part, formal, after in zip(operation.outputs, parts, formals, leaving, strict=True)
    )
    return [[next(found) for _ in tensors] for tensors in carried]


def _invariants(structure: Any, entering: list[list[Part]], given: Any) -> list[list[TensorShape]]:
    """Shapes of the formal inputs, from those given for the loop variables."""
    leaves = nest.flatten(structure)
    if given is None:
        flat: list[Any] = [None] * len(leaves)
    else:
        shapes = given if isinstance(given, (list, tuple)) else [given]
        flat = _up_to(list(structure), list(shapes))
        flat = [s.shape if isinstance(s, TensorSpec) else as_shape(s) for s in flat]
    found = []
    for leaf, parts, shape in zip(leaves, entering, flat, strict=True):
        requested = carrying.invariants(leaf, parts, shape)
        for part, one in zip(parts, requested, strict=True):
            if not one.is_compatible_with(part.shape):
                assert isinstance(part, Tensor)
                raise ValueError(
                    f"while_loop: the shape invariant {one} is not compatible with the initial "
                    f"value '{part.name}' of shape {part.shape}"
                )
        found.append(requested)
    return found


def _up_to(structure: Any, shapes: Any) -> list[Any]:
    """The shapes given for the leaves of a structure; a shape may itself be a list."""
    if not nest.is_nested(structure):
        return [shapes]
    inner, given = nest.children(structure), None
    if nest.is_nested(shapes):
        given = nest.children(shapes)
    if given is None or len(given) != len(inner):
        raise ValueError(
            f"while_loop: shape_invariants has another structure than loop_vars: "
            f"{len(inner)} loop variables but {0 if given is None else len(given)} "
            "shape_invariants"
        )
    return [s for one, two in zip(inner, given, strict=True) for s in _up_to(one, two)]


def _limit(maximum: Any) -> Tensor | None:
    if maximum is None:
        return None
    tensor = convert_to_tensor(maximum)
    if tensor.dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(
            f"while_loop: maximum_iterations is {tensor.dtype.name}, expected an integer"
        )
    if tensor.shape.ndims not in (None, 0):
        raise ValueError(f"maximum_iterations must be a scalar, saw shape: {tensor.shape}")
    if tensor.dtype == dtypes.int64:
        return tensor
    return primitive.cast(tensor, dtypes.int64)


def _test(
    cond: Callable[..., Any],
    structure: Any,
    leaves: list[Any],
    entering: list[list[Part]],
    invariants: list[list[TensorShape]],
) -> Graph:
    """A body from loop variables to whether to go on, made again before the loop and in it."""
    graph = Graph(outer=scopes.get_default_graph())
    with graph.as_body(), scopes.name_scope("cond"):
        formals = _formals(graph, entering, invariants)
        graph.outputs.append(_condition(cond, _packed(structure, leaves, formals)))
    return graph


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
    given: list[Any],
    structure: Any,
    leaves: list[Any],
    entering: list[list[Part]],
    carried: list[list[Tensor]],
    invariants: Any,
) -> list[list[Tensor]]:
    """Body's results as tensors, checked against the loop variables."""
    found = nest.flatten(given)
    if len(found) != len(leaves):
        raise ValueError(
            f"while_loop: body returned {len(found)} values for {len(leaves)} loop variables"
        )
    if len(leaves) > 1:
        nest.assert_same_structure(list(structure), given)
    following = []
    every = zip(found, leaves, entering, carried, strict=True)
    for i, (value, leaf, before, formals) in enumerate(every):
        parts = carrying.parts(value, formals[0].dtype)
        kinds = [carrying.kind_name(v) for v in (leaf, value)]
        if kinds[0] != kinds[1] or len(parts) != len(formals):
            raise ValueError(
                f"while_loop: loop variable {i} enters an iteration as {kinds[0]} and leaves it "
                f"as {kinds[1]}"
                + ("" if kinds[0] != kinds[1] else f" of {len(parts)} parts, not {len(formals)}")
            )
        following.append(
            [_next_value(i, *one, invariants) for one in zip(before, formals, parts, strict=True)]
        )
    return following


def _next_value(i: int, entering: Part, formal: Tensor, part: Part, invariants: Any) -> Tensor:
    tensor = part if isinstance(part, Tensor) else part.make(formal.shape)
    if not isinstance(entering, Tensor):
        formal.set_shape(tensor.shape)
    if tensor.dtype != formal.dtype:
        raise LoopTypeError(
            f"while_loop: loop variable {i} is {formal.dtype.name}, but body returned "
            f"{tensor.dtype.name} ('{tensor.name}'); cast it"
        )
    if not holds(formal.shape, tensor.shape):
        advice = (
            "the shape given in shape_invariants does not hold; give a less specific one"
            if invariants is not None
            else "give shape_invariants with None where the shape changes"
        )
        raise ValueError(
            f"while_loop: loop variable {i} enters an iteration with shape {formal.shape} "
            f"and leaves it with {tensor.shape} ('{tensor.name}'); {advice}"
        )
    return tensor


def holds(invariant: TensorShape, shape: TensorShape) -> bool:
    """Whether every value of `shape` also satisfies `invariant`."""
    if invariant.ndims is None:
        return True
    if shape.ndims != invariant.ndims:
        return False
    pairs = zip(invariant.as_list(), shape.as_list(), strict=True)
    return all(want is None or want == got for want, got in pairs)


# ---- scan ----

Way = tuple[int, bool]  # an axis, and whether it runs backward


def scan_node(
    body: Callable[[list[Tensor], list[Tensor]], tuple[Sequence[Tensor], Sequence[Tensor]]],
    state: Sequence[Tensor],
    inputs: Sequence[Tensor],
    cuts: Sequence[Way] | None = None,
    joins: Sequence[Way] | Way | None = None,
    name: str = "Scan",
) -> list[Tensor]:
    """One Scan node: the body runs once for every piece of the inputs.

    Args:
        body: from the state and one piece of each input to the next state and the outputs.
        state: its first value; dtypes and shapes stay.
        inputs: what is cut, at least one.
        cuts: how each input is cut; None: along axis 0, forward.
        joins: the same for the outputs; one way alone is that of all.
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
        read_what_they_assign(graph)
    joins = (0, False) if joins is None else joins
    ways = [joins] * len(outputs) if isinstance(joins, tuple) else list(joins)
    specs = [(s.dtype, s.shape) for s in state]
    specs += [(y.dtype, _with(y.shape, axis)) for y, (axis, _) in zip(outputs, ways, strict=True)]
    operation = outer.add_operation(
        "Scan", [*state, *inputs], specs, scan_attributes(graph, cuts, ways), name=name
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
