"""py_func of structures, smart_case, zero_initializer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.contrib.framework.nest import assert_shallow_structure, map_structure_up_to
from graphio.framework import dtypes, folding, nest
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.scopes import control_dependencies, name_scope
from graphio.framework.tensor_shape import as_shape
from graphio.framework.variable import is_variable_initialized
from graphio.ops.array import surface as array
from graphio.ops.checks.assertion import Assert
from graphio.ops.control_flow.branches import case
from graphio.ops.math import comparison
from graphio.ops.state import py_func as functions
from graphio.support import api_guard, errors

__all__ = ["py_func", "smart_case", "zero_initializer"]


@api_guard.operator
def py_func(
    func: Callable[..., Any], args: Any = (), kwargs: Any = None, output_types: Any = None,
    output_shapes: Any = None, stateful: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """The results of a Python function; see tf.py_func.

    Args:
        func: called in a run with the values of args and kwargs.
        args: list or tuple of tensors, or structures of them. kwargs: dict of them.
        output_types: the dtypes of the results, a structure; or a function of the arguments.
        output_shapes: their shapes, likewise; None: they are not known.
        stateful: False says that equal inputs give equal results.

    Returns:
        The results in the structure of output_types.

    Raises:
        TypeError: args is not a list, or kwargs is not a dict.
    """
    given = {} if kwargs is None else kwargs
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"args must be list and not {type(args)}. args: {args}")
    if not isinstance(given, dict):
        raise TypeError(f"kwargs must be dict and not {type(given)}. args: {given}")
    types = output_types
    if callable(types) and not isinstance(types, (type, dtypes.DType)):
        types = types(*args, **given)
    shapes = output_shapes(*args, **given) if callable(output_shapes) else output_shapes
    structure = (args, given)

    def call(*values: Any) -> list[Any]:
        positional, named = nest.pack_sequence_as(structure, list(values))
        found = func(*positional, **named)
        assert_shallow_structure(types, found)
        return nest.flatten(found)

    results = functions.py_func(
        call, nest.flatten(structure), nest.flatten(types), stateful=stateful, name=name
    )
    if shapes is not None:
        known = nest.flatten(map_structure_up_to(types, as_shape, shapes))
        for result, shape in zip(results, known, strict=True):
            result.set_shape(shape)
    return nest.pack_sequence_as(types, results)


@api_guard.operator
def smart_case(
    pred_fn_pairs: Any, default: Callable[[], Any] | None = None, exclusive: bool = False,
    name: str = "smart_case",
) -> Any:  # fmt: skip
    """As tf.case, but a predicate that is known while the graph is built chooses at once.

    Args:
        pred_fn_pairs: list of (bool, 0, 1 or bool scalar tensor, callable), or a dict of them.
        default, exclusive: as tf.case's.

    Raises:
        TypeError: as tf.case.
        InvalidArgumentError: no predicate holds, and there is no default; or exclusive and
            several hold.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    known = [_known(pred) for pred, _ in pairs]
    if exclusive and sum(value is True for value in known) > 1:
        raise errors.InvalidArgumentError(
            message=f"{name}: several predicates hold, and exclusive is True"
        )
    if exclusive and None in known:
        tensors = [(convert_to_tensor(pred, dtypes.bool), function) for pred, function in pairs]
        return case(tensors, default, exclusive=True, name=name)
    first = known.index(True) if True in known else len(pairs)
    last = pairs[first][1] if True in known else default
    left = [pair for pair, value in zip(pairs[:first], known, strict=False) if value is None]
    if left:
        return case(left, last, name=name)
    if last is None:
        raise errors.InvalidArgumentError(
            message=f"{name}: no predicate holds, and there is no default"
        )
    if not callable(last):
        raise TypeError(f"{name}: the function is {last!r}, expected a callable")
    return last()


def _known(predicate: Any) -> bool | None:
    """The value of a predicate; None: it is known in a run alone."""
    if isinstance(predicate, Tensor):
        value = folding.constant_value(predicate)
        return None if value is None else bool(value)
    if predicate not in (0, 1):
        raise TypeError(f"smart_case: a predicate is {predicate!r}, expected a bool or a tensor")
    return bool(predicate)


@api_guard.operator
def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Tensor:
    """The operation that initializes a variable with zeros, and its value then.

    Args:
        ref: a variable with a known shape.
        use_locking: has no effect: a run is one sequence of steps.

    Raises:
        InvalidArgumentError: of a run: the variable has a value.
    """
    with name_scope(name):
        is_new = comparison.logical_not(is_variable_initialized(ref))
        with control_dependencies([Assert(is_new, ["input is already initialized"])]):
            found: Tensor = ref.assign(array.zeros(ref.shape, ref.dtype.base_dtype))
        return found
