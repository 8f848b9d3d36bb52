"""CheckpointInputPipelineHook: positions of iterators in separate checkpoints."""

from __future__ import annotations

from typing import Any

from graphio.data import registered
from graphio.data.iterator import saveables_of
from graphio.framework import scopes
from graphio.train.checkpoints.checkpoint_state import get_checkpoint_state
from graphio.train.checkpoints.saver import Saver
from graphio.train.loops.checkpoint_hook import CheckpointSaverHook
from graphio.train.loops.hooks import step_tensor
from graphio.train.loops.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

__all__ = ["CheckpointInputPipelineHook"]


class CheckpointInputPipelineHook(SessionRunHook):
    """Saves the positions of the graph's iterators, and restores them before the first run.

    They are in checkpoints apart from the model's, input.ckpt-STEP with the state file
    checkpoint_input, so that a model can be restored without them. There are no estimators here:
    any object will do that has what is read of one.

    Args:
        estimator: its attributes are model_dir, the folder, and config, whose attributes are
            save_checkpoints_secs or save_checkpoints_steps (the other is None),
            num_worker_replicas, and, where that is more than 1, task_type and task_id, which
            then are part of the files' names.

    Raises:
        ValueError: not exactly one of the two times is given; when a session is made: there is no
            iterator.
    """

    def __init__(self, estimator: Any) -> None:
        config = estimator.config
        name = "input"
        if config.num_worker_replicas > 1:
            name += f"_{config.task_type}_{config.task_id}"
        self._folder, self._state_file = estimator.model_dir, f"checkpoint_{name}"
        self._saving = CheckpointSaverHook(
            self._folder,
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            checkpoint_basename=f"{name}.ckpt",
        )
        self._begun = False

    def begin(self) -> None:
        graph = scopes.get_default_graph()
        self._saver = _Saver(saveables_of(graph), self._state_file)
        self._saving._saver = self._saver
        self._saving.begin()
        self._step = step_tensor("CheckpointInputPipelineHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        if not self._begun:
            self._begun = True
            self._restore_or_save(run_context.session)
        return self._saving.before_run(run_context)

    def _restore_or_save(self, session: Any) -> None:
        state = get_checkpoint_state(self._folder, self._state_file)
        if state is not None and state.model_checkpoint_path:
            self._saver.restore(session, state.model_checkpoint_path)
        else:
            self._saving._save(session, int(session.run(self._step)))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._saving.after_run(run_context, run_values)

    def end(self, session: Any) -> None:
        self._saving.end(session)


class _Saver(Saver):
    """A Saver with another state file."""

    def __init__(self, saveables: Any, state_file: str) -> None:
        super().__init__(saveables)
        self._state_file = state_file

    def save(self, *args: Any, **options: Any) -> Any:
        return super().save(*args, **{"latest_filename": self._state_file, **options})


@registered.input_pipeline_hook.register
def _hook() -> type[CheckpointInputPipelineHook]:
    return CheckpointInputPipelineHook
