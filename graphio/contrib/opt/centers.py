"""Optimizers of local variables, which meet global ones, the center of all workers, at times.

There is one process: local and global variables are of the same session, and a program that waits
for other workers is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from graphio.contrib.opt.center_variables import (
    AccompaniedGetter,
    AGNCustomGetter,
    CenterGetter,
    ElasticAverageCustomGetter,
    ModelAverageCustomGetter,
)
from graphio.framework import scopes
from graphio.framework.collections import GraphKeys, add_to_collection, get_collection_ref
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import surface as array
from graphio.ops.control_flow.branches import cond, group, no_op
from graphio.ops.math import comparison, elementwise
from graphio.ops.nn.core import l2_loss
from graphio.train.checkpoints.saver import Saver
from graphio.train.loops.session_run_hook import SessionRunHook
from graphio.train.optimizers.optimizer import Optimizer
from graphio.variables.variable_scope import get_variable
from graphio.variables.variables import Variable, global_variables, trainable_variables

__all__ = ["AGNOptimizer", "ElasticAverageOptimizer", "ModelAverageOptimizer"]


class _BeginHook(SessionRunHook):
    """Runs an operation, which begin makes, in each new session."""

    def __init__(self, make: Callable[[], Operation]) -> None:
        self._make = make
        self._first: Operation | None = None

    def begin(self) -> None:
        self._first = self._make()

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._first)


class _CenterOptimizer(Optimizer):
    """Another optimizer of local variables, with a count of its steps."""

    def __init__(self, opt: Optimizer, period: int, getter: CenterGetter, name: str) -> None:
        super().__init__(True, name)
        self._opt, self._period = opt, period
        self._centers = getter.centers
        self._local_step = get_variable(
            "local_step", initializer=0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._opt.compute_gradients(*args, **kwargs)

    def _every_period(self, after: Sequence[Any], meet: Callable[[], Operation]) -> Any:
        """Counts a step after some operations, and meets the center in every period-th one."""
        with scopes.control_dependencies(list(after)):
            count = self._local_step.assign_add(1, name="local_step_update")
            due = comparison.equal(elementwise.mod(count, self._period), 0)
            return cond(due, meet, no_op)


class _AccompaniedOptimizer(_CenterOptimizer):
    """A _CenterOptimizer whose variables have another local one each, its companion."""

    def __init__(self, opt: Optimizer, period: int, getter: AccompaniedGetter, name: str) -> None:
        super().__init__(opt, period, getter, name)
        self._companions = getter.companions

    @staticmethod
    def _first(companion: Variable, center: Tensor) -> Tensor:
        """The first value of a companion."""
        raise NotImplementedError

    def get_init_op(self, task_index: int) -> Operation:
        """An operation that assigns the global center to variables, and the first values to the
        other local ones: the center, or zeros for the sums of AGNOptimizer.

        Args:
            task_index: of this worker; accepted.

        Raises:
            ValueError: there are no trainable variables.
        """
        done: list[Any] = []
        for variable in trainable_variables():
            center, companion = self._centers[variable].read_value(), self._companions[variable]
            done += [variable.assign(center), companion.assign(self._first(companion, center))]
        if not done:
            raise ValueError("there are no trainable variables: make them under the custom getter")
        return group(*done)

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> SessionRunHook:
        """A hook that runs get_init_op in new sessions.

        Args:
            is_chief: accepted: the session is this process's.
            task_index: of get_init_op.
        """
        return _BeginHook(lambda: self.get_init_op(task_index))


@contextmanager
def _local_by_default() -> Iterator[None]:
    """Global variables that are made in this context become local ones."""
    before = set(global_variables())
    yield
    listed = get_collection_ref(GraphKeys.GLOBAL_VARIABLES)
    made = [v for v in listed if v not in before]
    listed[:] = [v for v in listed if v in before]
    for variable in made:
        add_to_collection(GraphKeys.LOCAL_VARIABLES, variable)


def _trained(grads_and_vars: Sequence[tuple[Any, Variable]]) -> list[Variable]:
    return [variable for gradient, variable in grads_and_vars if gradient is not None]


class ModelAverageOptimizer(_CenterOptimizer):
    """Another optimizer of local variables, which take the average of all workers' at times.

    In every interval_steps-th step the center variables become the averages of the local ones,
    global_step grows by 1, and the local ones become the center.

    Args:
        opt: the optimizer.
        num_worker: number of workers: 1.
        is_chief: whether this process is the chief, which changes the center: True.
        ma_custom_getter: the ModelAverageCustomGetter that made the variables.
        interval_steps: steps between averages.
        use_locking: accepted; a run has no races.
        name: of the optimizer.

    Raises:
        ValueError: num_worker or is_chief would wait for another process.
    """

    def __init__(
        self,
        opt: Optimizer,
        num_worker: int,
        is_chief: bool,
        ma_custom_getter: ModelAverageCustomGetter,
        interval_steps: int = 100,
        use_locking: bool = True,
        name: str = "ModelAverageOptimizer",
    ) -> None:
        if num_worker != 1 or not is_chief:
            raise ValueError(
                f"{name}: num_worker is {num_worker} and is_chief {is_chief}, expected 1 and True: "
                "a model runs in one process, and the average would wait for others"
            )
        super().__init__(opt, interval_steps, ma_custom_getter, name)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """The other optimizer's, and the averages.

        Raises:
            ValueError: there are no pairs, or no global_step.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required")
        train = self._opt.apply_gradients(pairs)

        def meet() -> Operation:
            trained = _trained(pairs)
            done = [self._centers[v].assign(v.read_value()) for v in trained]
            with scopes.control_dependencies([*done, global_step.assign_add(1)]):
                return self._from_centers(trained)

        return self._every_period([train], meet)

    def _from_centers(self, variables: Sequence[Variable]) -> Operation:
        if not variables:
            raise ValueError("The list of local_variables should not be empty")
        return group(*(v.assign(self._centers[v].read_value()) for v in variables))

    def get_init_op(self) -> Operation:
        """An operation that assigns the center to the trainable variables."""
        return self._from_centers(trainable_variables())

    def make_session_run_hook(self) -> SessionRunHook:
        """A hook that runs get_init_op in new sessions."""
        return _BeginHook(self.get_init_op)


class ElasticAverageOptimizer(_AccompaniedOptimizer):
    """Another optimizer of local variables, tied elastically to a center (Zhang and others 2015).

    The loss gets rho * |variable - local center|^2 / 2. In every communication_period-th step the
    local center becomes the global one, and with d = moving_rate * (variable - local center),
    variable -= d, global center += d, and global_step grows by 1.

    Args:
        opt: the optimizer.
        num_worker: number of workers, of which this is one.
        ea_custom_getter: the ElasticAverageCustomGetter that made the variables.
        communication_period: steps between meetings.
        moving_rate: None: 0.9 / communication_period / num_worker.
        rho: None: moving_rate / the learning rate of opt.
        use_locking: accepted; a run has no races.
        synchronous: whether workers wait for each other at the beginning.
        name: of the optimizer.

    Raises:
        ValueError: synchronous with several workers: there is one process.
    """

    BETA = 0.9

    def __init__(
        self,
        opt: Optimizer,
        num_worker: int,
        ea_custom_getter: ElasticAverageCustomGetter,
        communication_period: int = 10,
        moving_rate: Any = None,
        rho: Any = None,
        use_locking: bool = True,
        synchronous: bool = False,
        name: str = "ElasticAverageOptimizer",
    ) -> None:
        if synchronous and num_worker != 1:
            raise ValueError(
                f"{name}: synchronous with num_worker {num_worker}, expected 1: a model runs in "
                "one process, and the workers would wait for each other"
            )
        super().__init__(opt, communication_period, ea_custom_getter, name)
        self._moving_rate = (
            self.BETA / communication_period / num_worker if moving_rate is None else moving_rate
        )
        self._rho = self._moving_rate / _learning_rate(opt) if rho is None else rho

    def compute_gradients(self, loss: Any, var_list: Any = None, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's, of the loss with the distances from the local center."""
        variables = list(var_list or trainable_variables())
        distances = [l2_loss(v - self._companions[v]) for v in variables]
        total = loss + self._rho * elementwise.add_n(distances)
        return self._opt.compute_gradients(total, variables, *args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """The other optimizer's, and the meetings; its slots become local variables."""
        pairs = list(grads_and_vars)
        with _local_by_default():
            train = self._opt.apply_gradients(pairs)
        return self._every_period([train], lambda: self._meet(_trained(pairs), global_step))

    def _meet(self, trained: Sequence[Variable], global_step: Any) -> Operation:
        done: list[Any] = []
        for variable in trained:
            center = self._centers[variable]
            now = self._companions[variable].assign(center.read_value())
            change = elementwise.multiply(self._moving_rate, variable.read_value() - now)
            done += [variable.assign_sub(change), center.assign_add(change)]
        if global_step is not None:
            done.append(global_step.assign_add(1))
        return group(*done)

    @staticmethod
    def _first(companion: Variable, center: Tensor) -> Tensor:
        return center

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Saver:
        """A Saver that saves the global centers under the names of the variables.

        Args:
            var_list: variables, or a dictionary of them by name; None: the trainable ones.
            name: of the Saver's operations.
            kwargs: of Saver.

        Raises:
            RuntimeError: the getter made no variables.
        """
        if not self._centers:
            raise RuntimeError(
                "global_center_variable is empty: make the model's variables by get_variable under "
                "the ElasticAverageCustomGetter before swapping_saver"
            )
        given = trainable_variables() if var_list is None else var_list
        named = dict(given) if isinstance(given, dict) else {v.op.name: v for v in given}
        return Saver(
            {key: self._centers.get(v, v) for key, v in named.items()}, name=name, **kwargs
        )


class AGNOptimizer(_AccompaniedOptimizer):
    """Accumulated gradient normalization (Hermans and others 2017).

    Local variables take all steps, and grad_variable adds up the gradients. In every
    communication_period-th step the optimizer applies the sums / communication_period to the
    global center, the local variables become the center, the sums 0, and global_step grows by 1.

    Args:
        optimizer: the other optimizer.
        num_worker: number of workers; accepted: each acts alone.
        custom_getter: the AGNCustomGetter that made the variables.
        communication_period: steps between meetings.
        use_locking: accepted; a run has no races.
        name: of the optimizer.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        num_worker: int,
        custom_getter: AGNCustomGetter,
        communication_period: int = 10,
        use_locking: bool = True,
        name: str = "AGNOptimizer",
    ) -> None:
        super().__init__(optimizer, communication_period, custom_getter, name)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """The other optimizer's, and the meetings; its slots of local variables become local."""
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        with _local_by_default():
            train = self._opt.apply_gradients(pairs)
        added = [self._companions[v].assign_add(g) for g, v in pairs]
        return self._every_period([train, *added], lambda: self._meet(_trained(pairs), global_step))

    def _meet(self, trained: Sequence[Variable], global_step: Any) -> Operation:
        means = [self._companions[v].read_value() / self._period for v in trained]
        centers = [self._centers[v] for v in trained]
        with scopes.control_dependencies(
            [self._opt.apply_gradients(list(zip(means, centers, strict=True)))]
        ):
            done = [] if global_step is None else [global_step.assign_add(1)]
            for variable, center in zip(trained, centers, strict=True):
                total = self._companions[variable]
                done += [
                    variable.assign(center.read_value()),
                    total.assign(self._first(total, center)),
                ]
            return group(*done)

    @staticmethod
    def _first(companion: Variable, center: Any) -> Tensor:
        return array.zeros_like(companion.read_value())


def _learning_rate(opt: Any) -> Any:
    """The learning rate as the optimizer was given it."""
    rate = opt._given.get("learning_rate")
    return opt._learning_rate if rate is None else rate
