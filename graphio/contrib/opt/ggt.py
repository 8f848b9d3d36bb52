"""GGT (Agarwal and others 2018): full-matrix Adagrad over a window of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.graph import Operation, Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.array.filling import eye
from graphio.ops.control_flow.branches import cond, group
from graphio.ops.linalg.factoring import svd
from graphio.ops.linalg.matmul import matmul
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.state.assigning import scatter_update
from graphio.train.optimizers.optimizer import Optimizer
from graphio.variables.variables import Variable

__all__ = ["GGTOptimizer"]


class GGTOptimizer(Optimizer):
    """Scales the average of the gradients by (M M^T)^(-1/2), M being the last averages.

    All gradients, in the order of their variables' names, are one vector, whose average m is
    beta1 * m + (1 - beta1) * gradients. M has the last `window` averages over
    sqrt(min(step, window)) as columns. With u and s of svd(M^T M + svd_eps * I),
    step = M u (sqrt(s) + sigma_eps)^-3 u^T M^T m; where min(sqrt(s)) is above eps, it also gets
    (m - M u s^-1 u^T M^T m) / min(sqrt(s)). variables -= learning_rate * step.

    The variables global_step, grad_buffer, moment1 and flat_grad keep the state.

    Args:
        learning_rate, beta1, eps, svd_eps, sigma_eps: numbers or scalar tensors.
        use_locking: accepted; a run has no races.
        name: of the training operation.
        window: number of averages.

    Raises:
        NotImplementedError: a gradient is sparse.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        use_locking: bool = False,
        name: str = "GGT",
        window: int = 10,
        eps: Any = 1e-4,
        svd_eps: Any = 1e-6,
        sigma_eps: Any = 1e-2,
    ) -> None:
        super().__init__(use_locking, name)
        self._given = {
            "lr": learning_rate, "beta1": beta1, "eps": eps, "svd_eps": svd_eps,
            "sigma_eps": sigma_eps,
        }  # fmt: skip
        self._window = window
        self._pieces: dict[Variable, tuple[int, int]] = {}
        self._state: dict[str, Variable] = {}

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        begin = 0
        self._pieces = {}
        for variable in sorted(variables, key=lambda v: v.name):
            end = begin + _size(variable)
            self._pieces[variable], begin = (begin, end), end
        dtype = variables[0].dtype.base_dtype
        shapes = {
            "global_step": [], "grad_buffer": [self._window, begin], "moment1": [begin],
            "flat_grad": [begin],
        }  # fmt: skip
        self._state = {
            name: self._create_non_slot_variable(array.zeros(shape, dtype), name, variables[0])
            for name, shape in shapes.items()
        }

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        rows = np.arange(*self._pieces[var], dtype=np.int32)
        return scatter_update(self._state["flat_grad"], rows, array.reshape(grad, [-1]))

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Operation:
        state, dtype = self._state, self._state["moment1"].dtype.base_dtype
        lr, beta1, *others = self._hyperparameters(dtype)
        count = state["global_step"].assign_add(1.0)
        slope = state["flat_grad"].read_value()
        moment = state["moment1"].assign(
            beta1 * state["moment1"].read_value() + (1.0 - beta1) * slope
        )
        row = elementwise.floormod(elementwise.cast(count - 1.0, dtypes.int32), self._window)
        kept = scatter_update(state["grad_buffer"], row, moment)
        width = elementwise.sqrt(elementwise.minimum(count, float(self._window)))
        step = self._step(array.transpose(kept / width), array.expand_dims(moment, -1), *others)
        changes = []
        for variable, (begin, end) in self._pieces.items():
            piece = array.reshape(index.gather(step, range(begin, end)), variable.shape.as_list())
            changes.append(variable.assign_sub(lr * piece))
        return group(*update_ops, *changes, name=name_scope)

    def _step(
        self, m: Tensor, moment: Tensor, eps: Tensor, svd_eps: Tensor, sigma_eps: Tensor
    ) -> Tensor:
        """The step (size, 1) by the averages m (size, window) and the latest one (size, 1)."""
        damping = svd_eps * eye(self._window, dtype=m.dtype)
        sigma, u, _ = svd(matmul(m, m, transpose_a=True) + damping)
        roots = elementwise.sqrt(sigma)
        least = reduction.reduce_min(roots)
        inner = matmul(u, matmul(m, moment, transpose_a=True), transpose_a=True)

        def through(scales: Tensor) -> Tensor:
            return matmul(m, matmul(u, array.expand_dims(scales, -1) * inner))

        head = through(1.0 / elementwise.pow(roots + sigma_eps, 3.0))
        tail = (moment - through(1.0 / sigma)) / least
        return cond(comparison.greater(least, eps), lambda: head + tail, lambda: head)  # type: ignore[no-any-return]


def _size(variable: Variable) -> int:
    size = variable.shape.num_elements()
    if size is None:
        raise ValueError(f"GGT needs the shape of '{variable.op.name}', which is {variable.shape}")
    return size
