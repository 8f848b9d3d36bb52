"""The base of all optimizers: gradients, slots, and the training operation.

An optimizer reads variables at its update's position in the order (as TensorFlow's Apply
operators do), computes one graphio step operator a variable, and assigns the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from graphio.autodiff.gradients import gradients
from graphio.framework import api_boundary, dtypes, nest, scopes
from graphio.framework.collections import GraphKeys, add_to_collection
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Operation, Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.framework.modes import init_scope
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.math import comparison, elementwise
from graphio.train.checkpoints.slices import info_of_slot
from graphio.train.optimizers.subclassing import Subclassing
from graphio.variables.variable_scope import get_variable_scope
from graphio.variables.variables import Variable, trainable_variables

__all__ = ["Optimizer", "touched_rows"]

GradientsAndVariables = list[tuple[Any, Variable]]


class Optimizer(Subclassing):
    """Base class; see GradientDescentOptimizer and its siblings.

    Subclasses give `_slot_values` (slot name to initial value, which is a float) and `_update`, or
    what graphio.train.optimizers.subclassing says.
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    #: slot name -> (suffix of the variable's name, initial value)
    _slot_values: dict[str, tuple[str, float]] = {}

    def __init__(self, use_locking: bool = False, name: str = "Optimizer") -> None:
        if not name:
            raise ValueError("an optimizer needs a name that is not empty")
        super().__init__()
        self._name = name

    def get_name(self) -> str:
        """The optimizer's name, which its training operation bears."""
        return self._name

    def __repr__(self) -> str:
        return f"<tf.train.{type(self).__name__} {self._name!r}>"

    @api_boundary.rolling_back_object
    def minimize(
        self,
        loss: Tensor | Callable[[], Tensor],
        global_step: Variable | None = None,
        var_list: Any = None,
        gate_gradients: int = 1,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Tensor | None = None,
    ) -> Operation:
        """An operation that lowers the loss by one step.

        Args:
            loss: floating tensor, or a function without arguments that builds it; its sum is
                minimised.
            global_step: integer scalar variable that counts steps.
            var_list: variables to change, in anything that gives them one after the other; None:
                all trainable ones.
            gate_gradients: one of the GATE numbers; a run has no races.
            aggregation_method: accepted.
            colocate_gradients_with_ops: True: gradients wish for their operations' devices.
            name: of the operation; None: the optimizer's.
            grad_loss: gradient arriving at the loss; None: ones.

        Returns:
            The operation; running it gives None.

        Raises:
            ValueError: no variable, or the loss depends on none of them, or gate_gradients is none
                of the GATE numbers.
        """
        pairs = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(gradient is None for gradient, _ in pairs):
            names = ", ".join(v.op.name for _, v in pairs)
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables [{names}] and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    @api_boundary.rolling_back_object
    def compute_gradients(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Any = None,
        gate_gradients: int = 1,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Tensor | None = None,
    ) -> GradientsAndVariables:
        """Pairs (gradient, variable); the gradient is None where the loss does not depend on it.

        loss may be a function without arguments that builds it. var_list may hold tensors, too,
        for their gradients alone, may be a single variable, or anything that gives variables one
        after the other, such as a dict's values().

        Raises:
            TypeError: something in var_list is neither a variable nor a tensor.
            ValueError: there is no variable to differentiate by, the loss or a variable that it
                depends on is not floating, or gate_gradients is none of the GATE numbers.
        """
        loss = convert_to_tensor(loss() if callable(loss) else loss)
        _require_floating([loss])
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH, not {gate_gradients!r}"
            )
        variables = trainable_variables() if var_list is None else _listed(var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        for v in variables:
            if not isinstance(v, (Variable, Tensor)):
                raise TypeError(f"Argument is not a variable: {v!r}")
        incoming = None if grad_loss is None else [grad_loss]
        beside = bool(colocate_gradients_with_ops)
        found = gradients(loss, variables, incoming, colocate_gradients_with_ops=beside)
        _require_floating([v for g, v in zip(found, variables, strict=True) if g is not None])
        return list(zip(found, variables, strict=True))

    @api_boundary.rolling_back_object
    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Operation:
        """An operation that applies gradients to their variables.

        Args:
            grads_and_vars: pairs as compute_gradients gives them; gradients may be tensors,
                IndexedSlices, whose dense_shape may be None, or None.
            global_step: integer scalar variable, incremented after the variables have changed.
            name: of the operation; None: the optimizer's.

        Raises:
            NotImplementedError: a pair has something else in place of the variable.
            TypeError: global_step is not a variable.
            ValueError: there are no pairs, all gradients are None, one has not its variable's
                shape, or a hyperparameter is not a scalar.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        for gradient, v in pairs:
            _require_fitting(gradient, v)
        if global_step is not None and not isinstance(global_step, Variable):
            raise TypeError(f"global_step must be a variable, not {global_step!r}")
        present = [(g, v) for g, v in pairs if g is not None]
        if not present:
            names = ", ".join(v.op.name for _, v in pairs)
            raise ValueError(f"No gradients provided for any variable: {names}.")
        with init_scope():
            self._create_slots([v for _, v in present])
        with scopes.name_scope(name, self._name) as scope:
            self._prepare()
            with scopes.get_default_graph().applied_as(self._update_type()):
                updates = self._updates(present)
            if global_step is None:
                train_op = self._finish(updates, scope)
            else:
                with scopes.control_dependencies([self._finish(updates, "update")]):
                    train_op = global_step.assign_add(
                        convert_to_tensor(1, dtype=global_step.dtype.base_dtype), name=scope
                    ).op
            add_to_collection(GraphKeys.TRAIN_OP, train_op)
            return train_op

    def _updates(self, present: Sequence[tuple[Any, Variable]]) -> list[Any]:
        """The updates by gradients, then further ones."""
        updates: list[Any] = []
        for gradient, variable in present:
            with scopes.name_scope("update_" + variable.op.name.replace("/", "_")):
                updates.extend(self._apply(gradient, variable))
        return [*updates, *self._after(updates)]

    def _update_type(self) -> str:
        """TensorFlow's type of the updates."""
        return "Apply" + type(self).__name__.removesuffix("Optimizer")

    def get_slot(self, var: Variable, name: str) -> Any:
        """The slot variable of var by its name, or None before it exists."""
        return self._slot_variables.get((name, var))

    def get_slot_names(self) -> list[str]:
        """Names of the slots that this optimizer keeps for each variable, sorted."""
        return sorted({*self._slot_values, *(name for name, _ in self._slot_variables)})

    def variables(self) -> list[Variable]:
        """The optimizer's own variables of the default graph, slots and whatever else it counts,
        sorted by name."""
        here = scopes.get_default_graph().root
        own = [*self._slot_variables.values(), *self._other_variables()]
        return sorted((v for v in own if v.graph is here), key=lambda v: v.name)

    # ---- overridden by subclasses ----

    #: hyperparameters by name, as the user gave them
    _given: dict[str, Any] = {}

    def _prepare(self) -> None:
        """Makes tensors of the hyperparameters, once a training operation."""
        self._scalars = {name: self._scalar(value, name) for name, value in self._given.items()}

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        """New values by slot name; "" stands for the parameter."""
        raise NotImplementedError

    def _after(self, updates: Sequence[Tensor]) -> list[Any]:
        """Further updates, after those of all variables."""
        return []

    def _other_variables(self) -> list[Variable]:
        return list(self._non_slots.values())

    #: True where a sparse gradient must leave the rows it lacks alone (Momentum)
    _sparse_touches_only_rows = False

    # ---- slots and updates ----

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        for variable in variables:
            for name, (suffix, value) in self._slot_values.items():
                if (name, variable) not in self._slot_variables:
                    self._slot_variables[name, variable] = self._new_slot(
                        variable, name, suffix, value
                    )

    def _new_slot(self, variable: Variable, name: str, suffix: str, value: float) -> Variable:
        with scopes.name_scope(None):
            if variable.shape.is_fully_defined():
                shape: Any = variable.shape.as_list()
            else:  # that of its first value, which is not known before the run
                shape = array.shape(variable.initialized_value())
            initial = array.fill(shape, convert_to_tensor(value, variable.dtype.base_dtype))
        return self._add_slot(variable, name, suffix, initial)

    def _add_slot(self, variable: Variable, name: str, suffix: str, initial: Tensor) -> Variable:
        # As TensorFlow: a slot made inside a variable scope bears the scope's name once more.
        scope = get_variable_scope().name
        full = f"{scope}/{variable.op.name}" if scope else variable.op.name
        with scopes.name_scope(None):
            made = Variable(
                initial,
                trainable=False,
                validate_shape=initial.shape.is_fully_defined(),
                name=f"{full}/{suffix}",
                slot_of=variable.op.name,
                slot=name,
            )
        made._set_save_slice_info(info_of_slot(variable, made))
        return made

    def _hyperparameters(self, dtype: dtypes.DType) -> list[Tensor]:
        """All of _given, in its order, as scalar tensors of dtype."""
        return [of(dtype) for of in self._scalars.values()]

    def _scalar(self, value: Any, name: str) -> Callable[[dtypes.DType], Tensor]:
        """A hyperparameter (number, tensor or callable) as a tensor of the requested dtype."""
        given = value() if callable(value) else value
        tensor = given if isinstance(given, (Tensor, Variable)) else None
        _require_scalar(given, name)
        made: dict[Any, Tensor] = {}

        def of(dtype: dtypes.DType) -> Tensor:
            here = scopes.get_default_graph(), dtype  # a tensor of a branch serves no other one
            if here not in made:
                made[here] = (
                    convert_to_tensor(given, dtype=dtype, name=name)
                    if tensor is None
                    else elementwise.cast(convert_to_tensor(tensor), dtype)
                )
            return made[here]

        return of

    def _apply(self, gradient: Any, variable: Variable) -> list[Any]:
        if isinstance(gradient, IndexedSlices):  # the slices may give no shape, or a wrong one
            shape = array.shape(variable)
            gradient = IndexedSlices(gradient.values, gradient.indices, shape)
        if type(self)._update is Optimizer._update:
            return [self._apply_own(gradient, variable)]
        sparse = gradient if isinstance(gradient, IndexedSlices) else None
        dense = convert_to_tensor(gradient, dtype=variable.dtype.base_dtype)
        owners = {"": variable}
        owners.update({name: self._slot_variables[name, variable] for name in self._slot_values})
        before = {name: owner.read_value() for name, owner in owners.items()}
        slots = {name: value for name, value in before.items() if name}
        after = self._update(before[""], dense, slots)
        if sparse is not None and self._sparse_touches_only_rows:
            rows = touched_rows(sparse, before[""])
            after = {name: array.where(rows, value, before[name]) for name, value in after.items()}
        if variable.constraint is not None:
            if sparse is not None:
                raise RuntimeError(
                    f"Cannot use a constraint function on a sparse variable: {variable.op.name}"
                )
            after[""] = convert_to_tensor(variable.constraint(after[""]))
        return [owners[name].assign(value) for name, value in after.items()]


def _listed(var_list: Any) -> list[Any]:
    """The leaves of a structure, of what gives its elements one after the other, or a leaf."""
    single = nest.is_nested(var_list) or isinstance(var_list, (Variable, Tensor, str))
    gives = not single and isinstance(var_list, Iterable)
    return nest.flatten(list(var_list) if gives else var_list)


def _require_fitting(gradient: Any, variable: Any) -> None:
    if isinstance(variable, Tensor):
        raise NotImplementedError(f"Trying to update a Tensor {variable!r}; give a variable")
    if not isinstance(variable, Variable):
        raise NotImplementedError(f"Trying to optimize unsupported type {variable!r}")
    if isinstance(gradient, IndexedSlices):
        found, expected = gradient.values.shape[1:], variable.shape[1:]
    elif isinstance(gradient, Tensor):
        found, expected = gradient.shape, variable.shape
    else:
        return
    if not found.is_compatible_with(expected):
        raise ValueError(
            f"Shapes must be equal, but the gradient has {found} and the variable "
            f"'{variable.op.name}' {expected}"
        )


def _require_scalar(value: Any, name: str) -> None:
    if isinstance(value, (Tensor, Variable)):
        scalar, described = value.shape.ndims in (None, 0), f"of shape {value.shape}"
    else:
        scalar, described = (
            not isinstance(value, (list, tuple)) and np.ndim(value) == 0,
            repr(value),
        )
    if not scalar:
        raise ValueError(f"{name} is {described}, expected a number or a scalar tensor")


def _require_floating(values: Sequence[Any]) -> None:
    """Refuses tensors and variables that no step can change."""
    for value in values:
        if not value.dtype.base_dtype.is_floating:
            raise ValueError(
                f"Invalid type {value.dtype.base_dtype.name} for {value.name}, expected: "
                "float16, bfloat16, float32 or float64."
            )


def touched_rows(sparse: IndexedSlices, like: Tensor) -> Tensor:
    """bool, like's shape: True in the rows that the slices name."""
    rows = index.gather(array.shape(like, out_type=dtypes.int64), 0)
    ones = array.ones_like(sparse.indices, dtype=dtypes.int64)
    counts = index.scatter_sum(sparse.indices, ones, rows)
    hit = comparison.greater(counts, convert_to_tensor(0, dtype=dtypes.int64))
    column = array.reshape(hit, [-1, *[1] * (len(like.shape.as_list()) - 1)])
    return comparison.logical_and(column, array.ones_like(like, dtype=dtypes.bool))
