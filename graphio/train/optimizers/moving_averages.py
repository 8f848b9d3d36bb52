"""Exponential moving averages of variables and tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import api_boundary, dtypes, scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Operation, Tensor
from graphio.framework.modes import init_scope
from graphio.framework.variable_reads import at_start
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.control_flow.branches import group
from graphio.ops.math import elementwise
from graphio.train.checkpoints.slices import info_of_slot
from graphio.variables.variable_scope import get_variable_scope
from graphio.variables.variables import (
    Variable,
    global_variables,
    moving_average_variables,
    trainable_variables,
)

__all__ = ["ExponentialMovingAverage"]


class ExponentialMovingAverage:
    """Keeps averages: average -= (1 - decay) * (average - value).

    The average of a variable starts at the variable's initial value, that of a tensor at 0.

    Args:
        decay: number or scalar tensor, near 1.
        num_updates: how many updates were done; number, tensor or variable. Where it is given,
            the decay is at most (1 + num_updates) / (10 + num_updates).
        zero_debias: True divides the averages of tensors by 1 - decay^t after t updates, so that
            their start at 0 leaves no trace.
        name: ends the names of the averages, and is the update's.
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay, self._num_updates = decay, num_updates
        self._zero_debias, self._name = zero_debias, name
        self._averages: dict[Any, Variable] = {}
        self._biased: dict[Any, tuple[Variable, Variable]] = {}

    @property
    def name(self) -> str:
        """The suffix of the averages' names."""
        return self._name

    @api_boundary.rolling_back_object
    def apply(self, var_list: Sequence[Any] | None = None) -> Operation:
        """An operation that updates the averages, which are made at their first mention.

        Variables are read at this point of the order: after a training operation under
        control_dependencies, with their new values. Averaged variables join the collection
        MOVING_AVERAGE_VARIABLES.

        Args:
            var_list: variables and tensors; None: the trainable variables.

        Raises:
            TypeError: one is not floating, or neither variable nor tensor.
        """
        values = list(trainable_variables() if var_list is None else var_list)
        for value in values:
            if not isinstance(value, (Variable, Tensor)):
                raise TypeError(f"Only variables and tensors have averages, not {value!r}")
            if not value.dtype.base_dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {value.name}")
        for value in values:
            if value not in self._averages:
                self._create(value)
        with scopes.name_scope(self._name) as at:
            decay = self._decay_now()
            updates = [self._update(value, decay) for value in values]
            return group(*updates, name=at)

    def average(self, var: Any) -> Variable | None:
        """The variable that holds the average of var; None before apply."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """The name of var's average, whether it exists or not; a checkpoint holds it so."""
        if var in self._averages:
            return self._averages[var].op.name
        graph = scopes.get_default_graph()
        return graph.unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(
        self, moving_avg_variables: Sequence[Variable] | None = None
    ) -> dict[str, Variable]:
        """For Saver: names in a checkpoint to variables, averages going into what they average.

        Args:
            moving_avg_variables: the averaged ones; None: all trainable ones and those of the
                collection MOVING_AVERAGE_VARIABLES. The other global variables keep their names.
        """
        if moving_avg_variables is None:
            moving_avg_variables = [*trainable_variables(), *moving_average_variables()]
        averaged = dict.fromkeys(moving_avg_variables)
        found = {self.average_name(v): v for v in averaged}
        for v in global_variables():
            if v not in averaged:
                found.setdefault(v.op.name, v)
        return found

    # ---- making and updating averages ----

    def _create(self, value: Any) -> None:
        full = f"{value.op.name}/{self._name}"
        if isinstance(value, Variable):
            with init_scope():
                initial = value.initialized_value()
            made = self._averages[value] = _own(initial, full)
            made._set_save_slice_info(info_of_slot(value, made))
            value.graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, value)
            return
        blank = _zeros(value)
        average = self._averages[value] = _own(blank, full)
        if self._zero_debias:
            with init_scope():
                none = convert_to_tensor(0, value.dtype.base_dtype)
            own = average.op.name
            self._biased[value] = _own(blank, f"{own}/biased"), _own(none, f"{own}/local_step")

    def _decay_now(self) -> Tensor:
        decay = convert_to_tensor(self._decay, dtype=dtypes.float32, name="decay")
        if self._num_updates is None:
            return decay
        # The number of updates is that of the start of the run, although it leads to assignments.
        now = at_start(convert_to_tensor(self._num_updates))
        done = elementwise.cast(now, dtypes.float32, name="num_updates")
        return elementwise.minimum(decay, (1.0 + done) / (10.0 + done))

    def _update(self, value: Any, decay: Tensor) -> Tensor:
        average = self._averages[value]
        now = value.read_value() if isinstance(value, Variable) else value
        with scope(None, "AssignMovingAvg") as at:
            fresh = elementwise.cast(1.0 - decay, average.dtype.base_dtype)
            if value not in self._biased:
                return average.assign_sub((average.read_value() - now) * fresh, name=at)
            biased, steps = self._biased[value]
            before = biased.read_value()
            total = biased.assign(before - (before - now) * fresh)
            share = 1 - elementwise.pow(1 - fresh, steps.assign_add(1))
            return average.assign(total / share, name=at)


def _own(initial: Tensor, name: str) -> Variable:
    # As TensorFlow: made inside a variable scope it bears the scope's name once more.
    around = get_variable_scope().name
    with scopes.name_scope(None):
        return Variable(initial, trainable=False, name=f"{around}/{name}" if around else name)


def _zeros(value: Tensor) -> Tensor:
    """Zeros of a tensor's shape, which must be known: a variable has one shape for ever."""
    if not value.shape.is_fully_defined():
        raise ValueError(
            f"the average of '{value.name}' needs its full shape, but it is {value.shape}"
        )
    with init_scope(), scopes.name_scope(None):
        return array.zeros(value.shape.as_list(), value.dtype.base_dtype)
