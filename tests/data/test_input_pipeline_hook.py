"""CheckpointInputPipelineHook."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import graphio as tf

Hook = tf.data.experimental.CheckpointInputPipelineHook


def wishes(folder: Path, steps: Any = 2, secs: Any = None, workers: int = 1) -> Any:
    config = SimpleNamespace(
        save_checkpoints_steps=steps,
        save_checkpoints_secs=secs,
        num_worker_replicas=workers,
        task_type="worker",
        task_id=3,
    )
    return SimpleNamespace(model_dir=str(folder), config=config)


def run(folder: Path, count: int, **options: Any) -> list[int]:
    """The elements of so many steps of a new program."""
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        iterator = tf.data.Dataset.range(100).make_initializable_iterator()
        value = iterator.get_next()
        with tf.control_dependencies([value]):
            train = tf.assign_add(step, 1)
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        with tf.train.MonitoredSession(hooks=[Hook(wishes(folder, **options))]) as session:
            return [session.run([value, train])[0] for _ in range(count)]


def test_a_program_goes_on_with_the_data_where_the_last_one_ended(tmp_path: Path) -> None:
    assert run(tmp_path, 3) == [0, 1, 2]
    assert (tmp_path / "checkpoint_input").exists() and not (tmp_path / "checkpoint").exists()
    assert sorted(path.name for path in tmp_path.glob("*.index")) == [
        f"input.ckpt-{step}.index" for step in (0, 2, 3)
    ]
    assert run(tmp_path, 2) == [3, 4]
    assert run(tmp_path / "other", 1) == [0]


def test_each_worker_has_files_with_its_name(tmp_path: Path) -> None:
    assert run(tmp_path, 1, workers=2) == [0]
    assert (tmp_path / "checkpoint_input_worker_3").exists()
    assert (tmp_path / "input_worker_3.ckpt-1.index").exists()


def test_a_hook_needs_one_time_and_an_iterator(tmp_path: Path) -> None:
    assert Hook is tf.contrib.data.CheckpointInputPipelineHook
    assert issubclass(Hook, tf.train.SessionRunHook)
    for steps, secs in ((None, None), (1, 1)):
        with pytest.raises(ValueError, match="every_secs"):
            Hook(wishes(tmp_path, steps, secs))
    with tf.Graph().as_default():
        tf.train.get_or_create_global_step()
        with pytest.raises(ValueError, match="[Nn]o variables to save"):
            Hook(wishes(tmp_path)).begin()
