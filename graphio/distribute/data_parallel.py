"""DataParallel: a training on several ranks whose bits do not depend on their number."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.data import resource
from graphio.distribute import agreement
from graphio.distribute.communicators.base import Communicator
from graphio.distribute.communicators.finding import communicator
from graphio.distribute.draws import Draws
from graphio.distribute.facts import Facts
from graphio.distribute.folder_lock import FolderLock
from graphio.distribute.reduction import Reduction
from graphio.distribute.shards import Feed, Shards
from graphio.distribute.step_graph import StepGraph
from graphio.support import errors
from graphio.support.version import __version__
from graphio.train.checkpoints.checkpoint_state import checkpoint_exists
from graphio.train.loops.stop_signals import STOP_SIGNALS, StopSignals
from graphio.train.loops.training_loop import TrainingLoop

__all__ = ["DataParallel"]

#: of TrainingLoop, what only the rank that saves is given
_OF_THE_FIRST = {
    "asynchronous", "best_metric", "best_mode", "best_to_keep", "history", "max_to_keep",
    "progress", "save_secs", "save_steps",
}  # fmt: skip
#: the name of the training's own facts in checkpoints
_OBJECT = "graphio.distribute"


class DataParallel:
    """Trains on all ranks of a job, and gives the same bits for any number of them.

        trainer = tf.distribute.DataParallel(loss, tf.train.AdamOptimizer(1e-3), shards=8)
        trainer.train(
            "run", steps=1000, save_steps=100,
            feed=lambda step, shard: {x: images[step, shard], y: labels[step, shard]},
        )

    The batch of a step is cut into shards. A rank computes the gradients of some of them, and all
    are added in one order, that of a tree of the shards; then each rank applies the mean. Who
    computes a shard changes nothing: one process, two ranks of mpiexec or five of torchrun give the
    same variables and checkpoints, also when a training goes on with another number of ranks.
    The engine is found by how the program was started: `mpiexec -n 4 python program.py`,
    `torchrun --nproc-per-node 4 program.py`, Ray Train, or none.

    Random operations draw by seed, step and shard. Batch normalization takes the statistics of a
    shard; its moving averages are the means over the shards. Gradients that are IndexedSlices
    are put after each other in the order of the shards. With more shards than ranks a rank
    computes several after each other, which is gradient accumulation.

    Args:
        loss: a scalar, the mean (or sum, see reduction) of a shard's losses.
        optimizer: a tf.train.Optimizer, or another with compute_gradients and apply_gradients.
        shards: of a step's batch, at least the number of ranks. Another number gives other bits, so
            it is a hyperparameter, and part of checkpoints.
        metrics: name to tensor: floating ones are averaged over the shards, integers are summed.
            "loss" is among them.
        reduction: "mean": gradients and loss are means of the shards'; "sum": sums.
        transform: from the pairs (gradient, variable) of the complete batch to those that are
            applied, such as clipping by the global norm; None: none.
        updates: assignments of each shard whose values are averaged; None: those of the collection
            UPDATE_OPS.
        var_list: the variables to train; None: all trainable ones.
        seed: of random operations that have none; None: one is drawn, and kept in checkpoints.
        check_steps: after so many steps the ranks compare their variables.
        engine: "mpi", "torch", "none"; None: the one that started the process; or a Communicator.
        timeout: seconds that a rank waits for the others.

    Attributes:
        rank, size: of this process; how many there are.
        shards: as given.
        train_op: the operation that changes the variables; metrics: tensors by name.

    Raises:
        TypeError: shards or check_steps is not an int.
        ValueError: shards is below the number of ranks, or another argument as described; the
            gradients depend on operations that change state.
        ImportError: the engine's library is not installed.
    """

    def __init__(
        self,
        loss: Any,
        optimizer: Any,
        shards: int,
        *,
        metrics: Mapping[str, Any] | None = None,
        reduction: str = "mean",
        transform: Callable[[list[Any]], Iterable[Any]] | None = None,
        updates: Sequence[Any] | None = None,
        var_list: Any = None,
        seed: int | None = None,
        check_steps: int = 100,
        engine: str | Communicator | None = None,
        timeout: float = 300.0,
    ) -> None:
        self.shards = _positive("shards", shards)
        self._check_steps = _positive("check_steps", check_steps)
        if reduction not in ("mean", "sum"):
            raise ValueError(f"reduction is {reduction!r}, expected 'mean' or 'sum'")
        self._communicator = (
            engine if isinstance(engine, Communicator) else communicator(engine, timeout)
        )
        self.rank, self.size = self._communicator.rank, self._communicator.size
        self._graph = loss.graph.root
        with self._graph.as_default():
            self._step = StepGraph(
                loss, optimizer, metrics=dict(metrics or {}), reduction=reduction,
                transform=transform, updates=updates, var_list=var_list,
            )  # fmt: skip
        self._reduction = Reduction(self._communicator, self.shards, self._step.groups)
        self._seed, self._mean = seed, reduction == "mean"
        self.train_op, self.metrics = self._step.train_op, self._step.metrics

    def train(
        self,
        checkpoint_dir: str | os.PathLike[str] | None,
        steps: int | None = None,
        feed: Feed | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Trains until a global step; goes on from the newest checkpoint of the folder.

        Every rank calls it with the same arguments. Rank 0 saves, the others read: all must see the
        folder. An error of one rank ends the training on all, and each raises it or, of another
        rank, an AbortedError with its words. A rank that gets SIGTERM or SIGINT ends it after the
        running step, with a checkpoint.

        Args:
            checkpoint_dir, steps: as tf.train.TrainingLoop has them.
            feed: the feed_dict of a shard, from step and shard; None: the data come from iterators
                of the graph, whose elements are the shards of step 0, then those of step 1. Every
                rank iterates over all and computes its own.
            options: of tf.train.TrainingLoop, without metrics.

        Returns:
            The metrics of the last step, over all shards.

        Raises:
            TypeError, ValueError: as TrainingLoop.
            FailedPreconditionError: the ranks run different programs, the checkpoint has another
                number of shards or another seed, or not all ranks see the folder.
            AbortedError: another rank has failed or is gone.
            DataLossError: variables differ between the ranks.
        """
        if feed is not None and not callable(feed):
            raise TypeError(f"feed is {feed!r}, expected a function of step and shard")
        self._facts = Facts(self.shards, self._seed)
        self._check_program(steps)
        signals = StopSignals(options.pop("stop_signals", STOP_SIGNALS))
        loop = self._loop(checkpoint_dir, steps, options)
        locks: list[FolderLock] = []
        try:
            signals.catch()
            if self.rank == 0:
                self._together(lambda: locks.append(FolderLock(checkpoint_dir)))
            else:
                self._reduction.agree(None)
            self._together(loop.__enter__)
            try:
                self._begin(loop)
                self._run(loop, steps, feed, signals)
            except BaseException as error:
                loop.__exit__(type(error), error, error.__traceback__)
                raise
            self._together(lambda: loop.__exit__(None, None, None))
        finally:
            signals.release()
            for lock in locks:
                lock.release()
        signals.send_again()
        return loop.metrics

    def _together(self, function: Callable[[], Any]) -> None:
        """Calls a function on each rank; an error of one is raised on all."""
        failure: Exception | None = None
        try:
            function()
        except Exception as error:
            failure = error
        self._reduction.agree(failure)

    def _check_program(self, steps: int | None) -> None:
        facts = {
            "version": __version__,
            "shards": str(self.shards),
            "steps": str(steps),
            "seed": str(self._seed),
        }
        nodes = self._graph.as_graph_def().SerializeToString(deterministic=True)
        agreement.check_program(self._communicator, facts, nodes)

    def _loop(self, folder: Any, steps: int | None, options: Mapping[str, Any]) -> TrainingLoop:
        if "metrics" in options:
            raise ValueError("metrics are an argument of DataParallel, not of train")
        given = dict(options)
        if self.rank:
            folder = None
            given = {name: value for name, value in given.items() if name not in _OF_THE_FIRST}
            given["progress"] = False
        given["objects"] = {**(given.get("objects") or {}), _OBJECT: self._facts}
        return TrainingLoop(
            self.train_op, folder, steps=steps, metrics=self.metrics, stop_signals=(), **given
        )

    def _begin(self, loop: TrainingLoop) -> None:
        """Gives all ranks what rank 0 has restored or initialised."""
        state = loop.session.state
        decided = json.dumps([loop.restored, self._facts.decide()]).encode()
        restored, seed = json.loads(self._communicator.broadcast(decided))
        if restored is None:
            agreement.share_variables(self._communicator, state)
        self._together(lambda: self._restore(loop, restored))
        self._draws = Draws(self._step.generators, self._graph.generators, seed, self.shards)
        self._facts.seed = seed
        agreement.check_variables(self._communicator, state, "at the beginning")

    def _restore(self, loop: TrainingLoop, prefix: str | None) -> None:
        """On the other ranks, the checkpoint that rank 0 has restored.

        Raises:
            FailedPreconditionError: this rank does not see it, or it is of other pipelines.
        """
        if prefix is None:
            return
        if self.rank and not checkpoint_exists(prefix):
            raise errors.FailedPreconditionError(
                message=f"rank 0 goes on from the checkpoint {prefix!r}, which rank {self.rank} "
                "does not see: give a folder that all ranks share"
            )
        if self.rank:
            loop.restore(prefix)
        lost = {op.attrs["function"] for op in self._step.iterators}
        lost -= set(resource.without_position(loop.session, [], begun=True))
        if lost:
            raise errors.FailedPreconditionError(
                message=f"the checkpoint {prefix!r} has no positions for the iterators "
                f"{', '.join(sorted(lost))}: their pipelines were others. A pipeline must not "
                "depend on the number of ranks, as shard(size, rank) does"
            )

    def _run(
        self, loop: TrainingLoop, steps: int | None, feed: Feed | None, signals: StopSignals
    ) -> None:
        session = loop.session
        shards = Shards(
            session, self._step, self._draws, feed, self._reduction.run, self.shards, self._mean
        )
        first = step = loop.step
        while steps is None or step < steps:
            stops = signals.caught is not None or loop.should_stop()
            sums = self._reduction(None if stops else shards.leaf(step))
            if sums is None:
                return
            if step == first or step % self._check_steps == 0:
                when = f"at step {step}"
                agreement.check_variables(self._communicator, session.state, when)
                agreement.check_iterators(self._communicator, session, when)
            feeds = shards.feeds(sums, self._communicator)
            try:
                loop.run(feeds)
            except Exception as error:
                self._reduction.agree(error)
            step += 1


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} is {value!r}, expected an int")
    if value < 1:
        raise ValueError(f"{name} is {value}, expected at least 1")
    return int(value)
