"""SyncReplicasOptimizer: an update by the average of several steps' gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Operation, Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import surface as array
from graphio.ops.control_flow.branches import group, no_op
from graphio.queues.accumulators import ConditionalAccumulator
from graphio.queues.queue_ops import FIFOQueue
from graphio.queues.queue_runner import QueueRunner
from graphio.queues.sparse_accumulators import SparseConditionalAccumulator
from graphio.support import errors
from graphio.train.loops.session_run_hook import SessionRunHook
from graphio.train.optimizers.delegating import DelegatingOptimizer
from graphio.train.optimizers.optimizer import Optimizer
from graphio.variables.variables import (
    Variable,
    global_variables,
    report_uninitialized_variables,
)

__all__ = ["SyncReplicasOptimizer"]


class SyncReplicasOptimizer(DelegatingOptimizer):
    """Another optimizer, which gets averages of the gradients of replicas_to_aggregate steps.

    The training operation adds gradients to accumulators and takes a token; a thread of the hook's
    applies the averages and adds the tokens of the next update. There is one process: its session
    takes the steps of all replicas, one after the other.

    Args:
        opt: the optimizer.
        replicas_to_aggregate: number of gradients of an update.
        total_num_replicas: number of replicas, each of which gets a token of an update; None:
            replicas_to_aggregate.
        variable_averages: an ExponentialMovingAverage that each update applies.
        variables_to_average: its variables.
        use_locking: accepted; a run has no races.
        name: of the operations.

    optimizer = tf.train.SyncReplicasOptimizer(tf.train.AdamOptimizer(), 4, 1) and
    tf.train.MonitoredTrainingSession(hooks=[optimizer.make_session_run_hook(True)]) update
    variables in every fourth run of optimizer.minimize(loss, global_step=step).
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(opt, use_locking, name)
        self._aggregated = replicas_to_aggregate
        self._total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        self._averages, self._averaged = variable_averages, variables_to_average
        self._global_step: Any = None
        self._tokens: FIFOQueue | None = None
        self._runner: QueueRunner | None = None
        self.local_step_init_op: Any = None
        self.chief_init_op: Any = None
        self.ready_for_local_init_op: Any = None

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """The operation of a step.

        Raises:
            ValueError: there are no pairs, or no global_step.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        local_step = Variable(
            0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES],
            dtype=global_step.dtype.base_dtype, name="sync_rep_local_step",
        )  # fmt: skip
        self.local_step_init_op = local_step.assign(global_step.read_value())
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with scopes.name_scope(None, self._name):
            made = [_Sum(g, v, local_step) if g is not None else None for g, v in pairs]
            means = [None if one is None else one.mean(self._aggregated) for one in made]
            variables = [v for _, v in pairs]
            with scopes.name_scope(None):
                update = self._opt.apply_gradients(
                    list(zip(means, variables, strict=True)), global_step
                )
                step = self._token(local_step, [one.added for one in made if one is not None])
                ends = [one.sums.cancel_takes() for one in made if one is not None]
                self._synchronize(update, group(*ends))
            starts = [one.sums.set_global_step(global_step, "SetGlobalStep") for one in made if one]
            self.chief_init_op = group(self.local_step_init_op, *starts)
        return step

    def _token(self, local_step: Variable, added: list[Operation]) -> Tensor:
        """Takes a token after gradients were added."""
        kind = local_step.dtype.base_dtype
        self._tokens = FIFOQueue(
            -1, kind, shapes=[[]], name="sync_token_q", shared_name="sync_token_q"
        )
        with scopes.control_dependencies(added):
            token = self._tokens.dequeue()
        return local_step.assign(token)

    def _synchronize(self, update: Operation, end: Operation) -> None:
        """Makes the runner of the chief's thread, which `end` ends."""
        assert self._tokens is not None
        with scopes.control_dependencies([update]):
            count = max(self._total, self._aggregated)
            tokens = array.fill([count], self._global_step.read_value())
            done: Any = self._tokens.enqueue_many([tokens])
        if self._averages is not None:
            with scopes.control_dependencies([done]):
                done = self._averages.apply(self._averaged)
        closed = (errors.OutOfRangeError, errors.CancelledError)
        self._runner = QueueRunner(
            self._tokens, [done], cancel_op=end, queue_closed_exception_types=closed
        )

    def get_chief_queue_runner(self) -> QueueRunner:
        """The runner of the thread that updates variables.

        Raises:
            ValueError: apply_gradients was not called.
        """
        if self._runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._runner

    def variables(self) -> list[Variable]:
        """The other optimizer's."""
        return self._opt.variables()

    def get_init_tokens_op(self, num_tokens: int = -1) -> Any:
        """An operation that adds the first tokens.

        Args:
            num_tokens: how many; -1: replicas_to_aggregate.

        Raises:
            ValueError: apply_gradients was not called, or there are too few for an update.
        """
        if self._tokens is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._aggregated - self._total
        if num_tokens == -1:
            num_tokens = self._aggregated
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} "
                "(needed)"
            )
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        return self._tokens.enqueue_many([array.fill([num_tokens], self._global_step.read_value())])

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """A hook that begins the steps in new sessions.

        Args:
            is_chief: whether this process updates variables: one has to.
            num_tokens: of get_init_tokens_op.
        """
        return _Hook(self, is_chief, num_tokens)


class _Sum:
    """The accumulator of a variable's gradients, tensors or IndexedSlices.

    Attributes:
        sums: the accumulator.
        added: the operation that adds this step's gradient.
    """

    sums: ConditionalAccumulator | SparseConditionalAccumulator
    _take: Callable[[int], Any]

    def __init__(self, gradient: Any, variable: Variable, local_step: Variable) -> None:
        name, step = f"{variable.name}/grad_accum", local_step.read_value()
        if isinstance(gradient, IndexedSlices):
            rows = SparseConditionalAccumulator(gradient.dtype, shape=(), shared_name=name)
            self.sums, self._take = rows, rows.take_indexed_slices_grad
            self.added = rows.apply_indexed_slices_grad(gradient, local_step=step)
        else:
            whole = ConditionalAccumulator(gradient.dtype, shape=variable.shape, shared_name=name)
            self.sums, self._take = whole, whole.take_grad
            self.added = whole.apply_grad(gradient, local_step=step)

    def mean(self, count: int) -> Any:
        """The mean of `count` gradients, once there are so many; of each row that of those that
        have it."""
        return self._take(count)


class _Hook(SessionRunHook):
    """Begins the steps of a SyncReplicasOptimizer."""

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer, self._chief, self._count = optimizer, is_chief, num_tokens
        self._first: list[Any] = []

    def begin(self) -> None:
        """Raises ValueError if apply_gradients was not called."""
        made = self._optimizer
        if made.chief_init_op is None:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        self._first = [made.local_step_init_op]
        if self._chief:
            self._first = [made.chief_init_op, made.get_init_tokens_op(self._count)]

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Runs the first operations, and starts the chief's thread."""
        missing = session.run(self._optimizer.ready_for_local_init_op)
        if len(missing):
            names = ", ".join(name.decode() for name in missing)
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. "
                f"Variables not initialized: {names}"
            )
        for operation in self._first:
            session.run(operation)
        if self._chief:
            runner = self._optimizer.get_chief_queue_runner()
            runner.create_threads(session, coord=coord, daemon=True, start=True)
