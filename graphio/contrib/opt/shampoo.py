"""Shampoo (Gupta, Koren and Singer 2018): one matrix that scales the gradient per dimension."""

from __future__ import annotations

from typing import Any, cast

from graphio.contrib.opt.matrix_roots import inverse_pth_root, square_root
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.array.filling import eye
from graphio.ops.control_flow.branches import cond
from graphio.ops.linalg.factoring import svd
from graphio.ops.linalg.matmul import matmul, tensordot
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.state.assigning import scatter_add
from graphio.train.optimizers.optimizer import Optimizer
from graphio.variables.variables import Variable

__all__ = ["ShampooOptimizer"]

#: passes of the iterative roots, and their accuracy
_PASSES, _ACCURACY = 100, 1e-6


class ShampooOptimizer(Optimizer):
    """variable -= learning_rate * gbar, whose dimension i is multiplied by G_i^(-alpha / rank).

    gbar is an average of gradients; G_i (slot Gbar_i, of dimension i by dimension i) adds up the
    gradient times itself, contracted over all other dimensions, divided by the dimension.
    A dimension above max_matrix_size has the diagonal of G_i alone.

    Args:
        global_step: the variable that counts the steps, or a number.
        max_matrix_size: the largest dimension with a complete G_i.
        gbar_decay, gbar_weight: gbar = gbar_decay * gbar + gbar_weight * gradient.
        mat_gbar_decay, mat_gbar_weight: the same for G_i.
        learning_rate: the rate.
        svd_interval: steps between computations of the powers of G_i, which slots H_i keep.
        precond_update_interval: steps between updates of G_i.
        epsilon: what the diagonal of a complete G_i gets.
        alpha: the power of all G_i together.
        use_iterative_root: True: powers come from iterations, False: from svd.
        use_locking: accepted; a run has no races.
        name: of the training operation.

    gbar_decay to learning_rate, both intervals and alpha may be functions of the step, which
    begins at 1.

    Raises:
        ValueError: a gradient is sparse, its variable has more than max_matrix_size rows, and
            mat_gbar_decay is not 1.
    """

    def __init__(
        self,
        global_step: Any = 0,
        max_matrix_size: int = 768,
        gbar_decay: Any = 0.0,
        gbar_weight: Any = 1.0,
        mat_gbar_decay: Any = 1.0,
        mat_gbar_weight: Any = 1.0,
        learning_rate: Any = 1.0,
        svd_interval: Any = 1,
        precond_update_interval: Any = 1,
        epsilon: float = 1e-4,
        alpha: Any = 0.5,
        use_iterative_root: bool = False,
        use_locking: bool = False,
        name: str = "Shampoo",
    ) -> None:
        super().__init__(use_locking, name)
        self._global_step, self._largest = global_step, max_matrix_size
        self._parameters = {
            "gbar_decay": gbar_decay, "gbar_weight": gbar_weight,
            "mat_gbar_decay": mat_gbar_decay, "mat_gbar_weight": mat_gbar_weight,
            "learning_rate": learning_rate, "svd_interval": svd_interval,
            "precond_update_interval": precond_update_interval, "alpha": alpha,
        }  # fmt: skip
        self._epsilon, self._iterative = epsilon, use_iterative_root
        self._now: dict[str, Any] = {}
        self._step: Any = None

    def _keeps_powers(self) -> bool:
        return callable(self._parameters["svd_interval"]) or self._parameters["svd_interval"] > 1

    def _create_slots(self, variables: Any) -> None:
        for variable in variables:
            self._zeros_slot(variable, "gbar", self._name)
            for axis, size in enumerate(_sizes(variable)):
                shape = [size]
                if size <= self._largest:
                    shape = [size, size]
                    if self._keeps_powers():
                        first = eye(size, dtype=variable.dtype.base_dtype)
                        self._get_or_make_slot(variable, first, f"H_{axis}", self._name)
                blank = array.zeros(shape, variable.dtype.base_dtype)
                self._get_or_make_slot(variable, blank, f"Gbar_{axis}", self._name)

    def _prepare(self) -> None:
        before = array.identity(convert_to_tensor(self._global_step))
        self._step = elementwise.cast(before, dtypes.float32) + 1.0
        self._now = {
            name: value(self._step) if callable(value) else value
            for name, value in self._parameters.items()
        }

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        gbar = self._averaged(self.get_slot(var, "gbar"), "gbar", grad)
        scaled = gbar
        for axis, size in enumerate(_sizes(var)):
            scaled = self._along(var, grad, scaled, axis, size)
        return var.assign_sub(self._now["learning_rate"] * scaled)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        rows = _sizes(var)[0]
        if rows <= self._largest or self._is_not(0.0, "gbar_decay"):
            shape = array.shape(var, out_type=grad.indices.dtype)
            at = array.expand_dims(grad.indices, 1)
            return self._apply_dense(index.scatter_nd(at, grad.values, shape), var)
        return self._apply_rows(grad, var)

    def _apply_rows(self, grad: IndexedSlices, var: Variable) -> Any:
        """The update by rows of a variable with more rows than max_matrix_size."""
        if self._is_not(1.0, "mat_gbar_decay"):
            raise ValueError(
                f"{self._name}: mat_gbar_decay is {self._parameters['mat_gbar_decay']!r}, expected "
                f"1 where the gradient of '{var.op.name}' is sparse and max_matrix_size is less "
                "than its rows"
            )
        others = list(range(1, len(var.shape)))
        squares = reduction.reduce_sum(grad.values * grad.values, axis=others)
        sums = scatter_add(
            self.get_slot(var, "Gbar_0"), grad.indices, self._now["mat_gbar_weight"] * squares
        )
        power = self._positive_power(index.gather(sums, grad.indices), len(var.shape))
        scaled = array.transpose(grad.values, [*others, 0]) * power
        for axis, size in list(enumerate(_sizes(var)))[1:]:
            scaled = self._along(var, grad.values, scaled, axis, size, normalized=False)
        return scatter_add(var, grad.indices, -self._now["learning_rate"] * scaled)

    def _is_not(self, number: float, name: str) -> bool:
        given = self._parameters[name]
        return callable(given) or given != number

    def _along(
        self,
        var: Variable,
        grad: Tensor,
        scaled: Tensor,
        axis: int,
        size: int,
        normalized: bool = True,
    ) -> Tensor:
        """The scaled gradient multiplied by the power of one dimension, which becomes its last."""
        others = [one for one in range(len(var.shape)) if one != axis]
        sums = self.get_slot(var, f"Gbar_{axis}")
        if size <= self._largest:
            power = self._power(var, self._outer(sums, grad, others), axis, size)
            return tensordot(scaled, power, [[0], [0]])
        squares = grad * grad
        if others:
            squares = reduction.reduce_sum(squares, axis=others)
            squares = squares / float(size) if normalized else squares
        new = self._averaged(sums, "mat_gbar", squares)
        transposed = array.transpose(scaled, [*range(1, len(var.shape)), 0])
        return transposed * self._positive_power(new, len(var.shape))

    def _averaged(self, slot: Variable, kind: str, value: Any, factor: Any = 1) -> Tensor:
        """A slot after decay * slot + weight * value; with a decay of 0 it stays as it is."""
        value = self._now[f"{kind}_weight"] * factor * value
        if not self._is_not(0.0, f"{kind}_decay"):
            return convert_to_tensor(value)
        if not self._is_not(1.0, f"{kind}_decay"):
            return slot.assign_add(value)
        return slot.assign_add((self._now[f"{kind}_decay"] - 1) * slot.read_value() + value)

    def _due(self, interval: str) -> Tensor:
        count = elementwise.cast(convert_to_tensor(self._now[interval]), dtypes.float32)
        return comparison.less(elementwise.mod(self._step, count), 1.0)

    def _outer(self, sums: Variable, grad: Tensor, others: list[int]) -> Tensor:
        """G_i, updated where this step does so."""

        def updated() -> Tensor:
            outer = tensordot(grad, grad, [others, others])
            interval = self._now["precond_update_interval"]
            return self._averaged(sums, "mat_gbar", outer, interval)

        return cond(self._due("precond_update_interval"), updated, sums.read_value)  # type: ignore[no-any-return]

    def _power(self, var: Variable, sums: Tensor, axis: int, size: int) -> Tensor:
        """G_i^(-alpha / rank), or the one that the slot H_i keeps."""
        exponent = -self._now["alpha"] / len(var.shape)
        root = self._iterated if self._iterative else self._by_svd
        mean = sums / float(size)
        if not self._keeps_powers():
            return root(mean, size, exponent)
        kept = self.get_slot(var, f"H_{axis}")
        return cond(  # type: ignore[no-any-return]
            self._due("svd_interval"),
            lambda: kept.assign(root(mean, size, exponent)),
            kept.read_value,
        )

    def _by_svd(self, mean: Tensor, size: int, exponent: Any) -> Tensor:
        if size == 1:
            return elementwise.pow(mean + self._epsilon, exponent)
        damped = mean + self._epsilon * eye(size, dtype=mean.dtype)
        values, left, right = svd(damped, full_matrices=True)
        powers = elementwise.pow(elementwise.maximum(values, self._epsilon), exponent)
        return matmul(right * powers, array.transpose(left))

    def _iterated(self, mean: Tensor, size: int, exponent: Any) -> Tensor:
        root = square_root(mean, size, _PASSES, self._epsilon)
        return inverse_pth_root(root, size, 2 * exponent, _PASSES, _ACCURACY, 0.0)

    def _positive_power(self, sums: Tensor, rank: int) -> Tensor:
        """sums^(-alpha / rank) where sums are above 0, and 0 elsewhere."""
        powers = elementwise.pow(sums, -self._now["alpha"] / rank)
        return array.where(comparison.greater(sums, 0.0), powers, array.zeros_like(sums))


def _sizes(variable: Variable) -> list[int]:
    """The shape of a variable.

    Raises:
        ValueError: it is not known.
    """
    sizes = variable.shape.as_list()
    if None in sizes:
        raise ValueError(f"Shampoo needs the shape of '{variable.op.name}', but it is {sizes}")
    return cast("list[int]", sizes)
