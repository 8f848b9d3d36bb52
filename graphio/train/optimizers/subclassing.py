"""The methods that a user-defined optimizer overrides and calls.

A subclass gives `_apply_dense` (or `_resource_apply_dense`) and perhaps `_apply_sparse`,
`_create_slots`, `_prepare` and `_finish`, as in TensorFlow 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import surface as array
from graphio.ops.array.index_gradients import each_row_once
from graphio.ops.control_flow.branches import group
from graphio.variables.variables import Variable

__all__ = ["Subclassing"]


class Subclassing:
    """The part of Optimizer that optimizers of programs rely on."""

    _slot_variables: dict[tuple[str, Variable], Variable]
    _add_slot: Callable[[Variable, str, str, Tensor], Variable]

    def __init__(self) -> None:
        self._slot_variables = {}
        self._non_slots: dict[tuple[str, Graph], Variable] = {}

    # ---- to fill in ----

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        """The operation that applies a gradient."""
        raise NotImplementedError

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        """As _apply_dense, under its newer name."""
        raise NotImplementedError

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        """The operation that applies rows of a gradient, each of which comes once."""
        raise NotImplementedError

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Any:
        """The operation that applies rows of a gradient, some of which may come repeatedly."""
        return self._apply_sparse(each_row_once(grad), var)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Operation:
        """The training operation of those of all variables."""
        return group(*update_ops, name=name_scope)

    # ---- to call ----

    def _call_if_callable(self, param: Any) -> Any:
        """A hyperparameter, or what a callable gives."""
        return param() if callable(param) else param

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Variable:
        """The slot of a variable, made of zeros if there is none."""
        return self._get_or_make_slot(var, array.zeros_like(var.initial_value), slot_name, op_name)

    def _get_or_make_slot(self, var: Variable, val: Any, slot_name: str, op_name: str) -> Variable:
        """The slot of a variable, made of a value if there is none."""
        if (slot_name, var) not in self._slot_variables:
            value = convert_to_tensor(val)
            self._slot_variables[slot_name, var] = self._add_slot(var, slot_name, op_name, value)
        return self._slot_variables[slot_name, var]

    def _get_or_make_slot_with_initializer(
        self, var: Variable, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Variable:
        """The slot of a variable, made by an initializer if there is none."""
        if (slot_name, var) not in self._slot_variables:
            made = initializer() if isinstance(initializer, type) else initializer
            self._get_or_make_slot(var, made(shape, dtype=dtype), slot_name, op_name)
        return self._slot_variables[slot_name, var]

    def _slot_dict(self, slot_name: str) -> dict[Variable, Variable]:
        """The slots of a name by their variables."""
        return {
            var: slot for (name, var), slot in self._slot_variables.items() if name == slot_name
        }

    @property
    def _slots(self) -> dict[str, dict[tuple[Graph, str], Variable]]:
        """All slots by their name, and by the graph and name of their variable."""
        found: dict[str, dict[tuple[Graph, str], Variable]] = {}
        for (name, var), slot in self._slot_variables.items():
            found.setdefault(name, {})[var.graph, var.op.name] = slot
        return found

    def _create_non_slot_variable(
        self, initial_value: Any, name: str, colocate_with: Any = None
    ) -> Variable:
        """A variable of the optimizer's own, made once a graph."""
        graph = colocate_with.graph.root
        if (name, graph) not in self._non_slots:
            self._non_slots[name, graph] = Variable(initial_value, trainable=False, name=name)
        return self._non_slots[name, graph]

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> Variable | None:
        """A variable made by _create_non_slot_variable."""
        return next(
            (v for (n, g), v in self._non_slots.items() if n == name and graph in (None, g)), None
        )

    # ---- how the hooks are called ----

    def _apply_own(self, gradient: Any, variable: Variable) -> Any:
        """The update of one gradient by the subclass.

        Raises:
            NotImplementedError: it gives no function for it.
        """
        if isinstance(gradient, IndexedSlices):
            return self._apply_sparse_duplicate_indices(gradient, variable)
        dense = convert_to_tensor(gradient, dtype=variable.dtype.base_dtype)
        newer = type(self)._apply_dense is Subclassing._apply_dense
        return (self._resource_apply_dense if newer else self._apply_dense)(dense, variable)
