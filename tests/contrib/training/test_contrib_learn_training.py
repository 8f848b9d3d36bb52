"""tf.contrib.learn's monitors that save and evaluate, train and evaluate of graphs. Expected
numbers are those of numpy, and of how the Python of TensorFlow 1.15.5 counts steps."""

from __future__ import annotations

import glob
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

learn = tf.contrib.learn
actions = learn.graph_actions
monitors = learn.monitors
TARGETS = pytest.mark.parametrize("target", ["", "runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as made:
        yield made
    actions.clear_summary_writers()


def shrinking() -> tuple[Any, Any]:
    """w begins at 8, and each step halves it; the loss is that before."""
    w = tf.get_variable("w", initializer=8.0)
    step = tf.train.get_or_create_global_step()
    loss = tf.multiply(w, 1.0, name="loss")
    with tf.control_dependencies([loss]):
        change = tf.group(w.assign(w * 0.5), step.assign_add(1), name="train")
    return change, loss


def events(folder: Path) -> list[tuple[int, str, float]]:
    found = []
    for path in sorted(glob.glob(str(folder / "events*"))):
        for event in tf.train.summary_iterator(path):
            found += [(event.step, v.tag, v.simple_value) for v in event.summary.value]
    return found


@TARGETS
def test_training_goes_on_from_its_checkpoint(target: str, tmp_path: Path) -> None:
    folder = str(tmp_path)

    def trained(**steps: int) -> Any:
        with tf.Graph().as_default() as graph:
            change, loss = shrinking()
            tf.summary.scalar("value", loss)
            return learn.train(graph, folder, change, loss, supervisor_master=target, **steps)

    assert trained(steps=3) == 2.0
    assert tf.train.latest_checkpoint(folder).endswith("model.ckpt-3")
    assert trained(steps=2) == 0.5 and actions.load_variable(folder, "w") == 0.25
    assert trained(max_steps=5) is None
    actions.get_summary_writer(folder).flush()
    written = [event for event in events(tmp_path) if event[1] == "value"]
    # in the first step, and in the last one of each training
    assert written == [(1, "value", 8.0), (3, "value", 2.0), (5, "value", 0.5)]


def test_monitors_get_outputs_by_names_and_may_end_training(tmp_path: Path, graph: Any) -> None:
    change, loss = shrinking()
    kept = monitors.CaptureVariable("loss:0", every_n=1)
    dump = monitors.GraphDump()
    stop = monitors.StopAtStep(num_steps=2)
    got = actions.train(graph, str(tmp_path), change, loss, monitors=[kept, dump, stop])
    assert got == 4.0 and kept.values == {1: 8.0, 2: 4.0}
    assert (dump.data[2]["loss:0"], dump.data[2]["mul:0"]) == (4.0, 2.0)
    assert "w/initial_value:0" not in dump.data[2]  # a constant


def test_data_that_end_end_the_training(tmp_path: Path, graph: Any) -> None:
    change, loss = shrinking()
    x = tf.placeholder(tf.float32, [])
    feeds = iter([{x: 1.0}, {x: 5.0}])
    found = learn.train(graph, str(tmp_path), change, loss + x, feed_fn=lambda: next(feeds))
    assert found == 9.0
    assert actions.load_variable(str(tmp_path), "global_step") == 2


def test_a_loss_that_is_no_number_is_an_error(tmp_path: Path, graph: Any) -> None:
    change, loss = shrinking()
    bad = loss * float("nan")
    with pytest.raises(learn.NanLossDuringTrainingError):
        learn.train(graph, str(tmp_path), change, bad, steps=2)
    got = learn.train(graph, str(tmp_path), change, bad, steps=2, fail_on_nan_loss=False)
    assert np.isnan(got)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"steps": 1, "max_steps": 2}, "both steps and max_steps"),
        ({"output_dir": ""}, "non-empty"),
        ({"train_op": None}, "train_op"),
        ({"loss_op": None}, "loss_op"),
    ],
)
def test_training_without_its_tensors_is_refused(
    given: dict[str, Any], text: str, tmp_path: Path, graph: Any
) -> None:
    change, loss = shrinking()
    arguments = {"output_dir": str(tmp_path), "train_op": change, "loss_op": loss, **given}
    with pytest.raises(ValueError, match=text):
        learn.train(graph, **arguments)


def test_training_without_a_step_is_refused(tmp_path: Path, graph: Any) -> None:
    loss = tf.constant(1.0)
    with pytest.raises(ValueError, match='No "global_step"'):
        learn.train(graph, str(tmp_path), loss.op, loss)


@TARGETS
def test_a_checkpoint_is_evaluated_and_written_as_summaries(
    target: str, tmp_path: Path, graph: Any
) -> None:
    change, loss = shrinking()
    learn.train(graph, str(tmp_path / "model"), change, loss, steps=3)
    with tf.Graph().as_default() as other:
        w, step = tf.get_variable("w", []), tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [])
        mean, update = tf.metrics.mean(w * x)
        feeds = iter([{x: 1.0}, {x: 2.0}, {x: 6.0}])
        found, at = learn.evaluate(
            other, str(tmp_path), str(tmp_path / "model"), {"mean": mean, "step": step}, update,
            feed_fn=lambda: next(feeds), supervisor_master=target,
        )  # fmt: skip
    assert found == {"mean": 3.0, "step": 3} and at == 3
    assert events(tmp_path) == [(3, "mean", 3.0)]


def test_a_graph_without_a_checkpoint_is_evaluated_with_its_first_values(
    tmp_path: Path, graph: Any
) -> None:
    _, loss = shrinking()
    found, at = learn.evaluate(graph, str(tmp_path), None, {"loss": loss}, max_steps=2)
    assert found == {"loss": 8.0} and at == 0
    with pytest.raises(ValueError, match="non-empty"):
        learn.evaluate(graph, "", None, {"loss": loss})


@pytest.mark.parametrize("most, evaluations", [(4, 2), (5, 3)])
def test_the_last_step_is_evaluated_once(
    most: int, evaluations: int, tmp_path: Path, graph: Any
) -> None:
    tf.train.get_or_create_global_step()
    count = tf.get_local_variable("count", [], initializer=tf.zeros_initializer())
    found, _ = learn.evaluate(
        graph, str(tmp_path), None, {"count": count.assign_add(1.0)}, tf.no_op(),
        log_every_steps=2, max_steps=most,
    )  # fmt: skip
    assert found == {"count": evaluations}


def hooked(used: list[Any], steps: int, folder: str | None = None) -> None:
    """Steps of a session with monitors by their hook."""
    change, _ = shrinking()
    hooks = [monitors.RunHookAdapterForMonitors(used)]
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=1, save_summaries_steps=None,
        save_summaries_secs=None, log_step_count_steps=None,
    ) as session:  # fmt: skip
        for _ in range(steps):
            session.run(change)


def test_checkpoints_are_saved_every_so_many_steps_and_at_the_end(tmp_path: Path) -> None:
    scaffold = types.SimpleNamespace(saver=None)
    saving = monitors.CheckpointSaver(str(tmp_path), save_steps=3, scaffold=scaffold)

    class Builds(monitors.BaseMonitor):
        def begin(self, max_steps: int | None = None) -> None:
            super().begin(max_steps)
            scaffold.saver = tf.train.Saver(max_to_keep=9)

    hooked([Builds(), saving], 6)
    names = [path.rpartition("-")[2] for path in tf.train.get_checkpoint_state(
        str(tmp_path)).all_model_checkpoint_paths]  # fmt: skip
    assert names == ["1", "4", "6"]
    for given in ({}, {"save_secs": 1, "save_steps": 1}):
        with pytest.raises(ValueError, match="save_steps"):
            monitors.CheckpointSaver(str(tmp_path), **given)


def test_speed_is_written_as_a_summary(tmp_path: Path) -> None:
    counter = monitors.StepCounter(every_n_steps=2)
    counter.set_estimator(types.SimpleNamespace(model_dir=str(tmp_path)))
    hooked([counter], 5)
    actions.get_summary_writer(str(tmp_path)).flush()
    found = events(tmp_path)
    assert [(step, tag) for step, tag, _ in found] == [
        (3, "global_step/sec"), (5, "global_step/sec"),
    ]  # fmt: skip
    assert all(rate > 0 for _, _, rate in found)


def test_trained_variables_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    tf.get_variable("other", initializer=1.5)
    caplog.set_level("INFO")
    hooked([monitors.LoggingTrainable("w", every_n=2)], 2)
    lines = [r.getMessage() for r in caplog.records if "Logging Trainable" in r.getMessage()]
    assert len(lines) == 1 and lines[0].startswith("Logging Trainable: Step 1: w:0 = ")


class Model:
    """The model that a ValidationMonitor evaluates."""

    def __init__(self, folder: Path, losses: list[float]) -> None:
        self.model_dir, self.config = str(folder), types.SimpleNamespace(is_chief=True)
        self.losses, self.calls = iter(losses), []

    def evaluate(self, **given: Any) -> dict[str, float]:
        self.calls.append(given)
        return {"loss": next(self.losses), "count": len(self.calls)}


def test_training_ends_when_evaluations_become_no_better(tmp_path: Path) -> None:
    model = Model(tmp_path, [3.0, 2.0, 2.5, 2.25, 1.0])
    watch = monitors.ValidationMonitor(
        "x", eval_steps=7, every_n_steps=1, early_stopping_rounds=2, check_interval_secs=None
    )
    (hook,) = monitors.replace_monitors_with_hooks([watch], model)
    change, _ = shrinking()
    done = 0
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), hooks=[hook], save_checkpoint_steps=1,
        save_summaries_steps=None, save_summaries_secs=None, log_step_count_steps=None,
    ) as session:  # fmt: skip
        while not session.should_stop():
            session.run(change)
            done += 1
    assert watch.early_stopped and len(model.calls) == 4
    assert watch.best_value == 2.0 and watch.best_metrics == {"loss": 2.0, "count": 2}
    assert done == watch.best_step + 2
    assert model.calls[0]["x"] == "x" and model.calls[0]["steps"] == 7


def test_evaluations_need_data_and_a_model_with_that_metric(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="x or input_fn"):
        monitors.ValidationMonitor()
    watch = monitors.ValidationMonitor("x", every_n_steps=1, check_interval_secs=None)
    with pytest.raises(ValueError, match="set_estimator"):
        watch.every_n_step_end(1, {})
    watch.set_estimator(Model(tmp_path, [1.0]))
    assert watch.every_n_step_end(1, {}) is False  # there is no checkpoint


def test_monitors_for_the_chief_alone_are_left_out_elsewhere(tmp_path: Path) -> None:
    model = Model(tmp_path, [])
    model.config.is_chief = False
    hook, stop = tf.train.StopAtStepHook(last_step=3), monitors.StopAtStep(2)
    found = monitors.replace_monitors_with_hooks([monitors.NanLoss("a"), stop, hook], model)
    assert found[0] is hook and found[1]._monitors == [stop]
    assert monitors.replace_monitors_with_hooks(None, model) == []


def test_the_usual_monitors_log_the_loss_and_save_summaries(tmp_path: Path) -> None:
    loss = tf.constant(1.0, name="loss")
    found = monitors.get_default_monitors(loss, tf.summary.scalar("s", loss), 5, str(tmp_path))
    assert [type(one).__name__ for one in found] == ["PrintTensor", "SummarySaver"]
    assert found[0].step_begin(1) == ["loss:0"] and found[1]._every_n_steps == 5
    assert monitors.get_default_monitors() == []


def test_dumps_of_two_trainings_are_compared() -> None:
    one, two = monitors.GraphDump(), monitors.GraphDump()
    masks = np.array([True, False]), np.array([True, True])
    one._data = {
        1: {"a:0": np.array([1.0, 2.0]), "b:0": np.float32(1), "s:0": b"x", "m:0": masks[0]}
    }
    two._data = {
        1: {"a:0": np.array([1.0, 2.5]), "b:0": np.float32(1), "s:0": b"y", "m:0": masks[1]}
    }
    matched, others = one.compare(two, 1)
    assert matched == ["b:0"] and others["a:0"].tolist() == [0, -0.5]
    assert [mask.tolist() for mask in others["m:0"]] == [[True, False], [True, True]]
    assert one.compare(two, 2) == ([], {})
    with pytest.raises(ValueError, match="a:0 missing at step 1"):
        one.compare(monitors.GraphDump(), 1)
