"""Names of tf.train, tf.profiler, queues and readers that other tests reach by other names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from queue_runs import values_until_the_end
from value_cases import TARGETS

import graphio as tf

both = pytest.mark.parametrize("target", TARGETS)


@pytest.fixture(autouse=True)
def a_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def test_a_timer_of_steps_says_when_it_is_time() -> None:
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    found = []
    for step in range(1, 9):
        if timer.should_trigger_for_step(step):
            before = timer.last_triggered_step()
            found.append((step, before, timer.update_last_triggered_step(step)[1]))
    # by TensorFlow 2.21
    assert found == [(1, None, None), (4, 1, 3), (7, 4, 3)]
    assert timer.last_triggered_step() == 7
    timer.reset()
    assert timer.last_triggered_step() is None and timer.should_trigger_for_step(8)


def test_a_timer_of_seconds_follows_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    timer = tf.train.SecondOrStepTimer(every_secs=2.0)
    assert timer.update_last_triggered_step(1) == (None, None)
    now[0] = 101.5
    assert not timer.should_trigger_for_step(5)
    now[0] = 102.0
    assert timer.should_trigger_for_step(5) and not timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(5) == (2.0, 4)
    with pytest.raises(ValueError, match="both"):
        tf.train.SecondOrStepTimer(1.0, 1)
    with pytest.raises(ValueError, match="should be provided"):
        tf.train.SecondOrStepTimer()


@both
def test_hooks_see_a_run_and_its_values(target: str) -> None:
    x = tf.placeholder(tf.float32)
    y = x * 2.0
    seen: list[Any] = []

    class Hook(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> Any:
            seen.append(run_context)
            return tf.train.SessionRunArgs({"x": x})

        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append(run_values)
            run_context.request_stop()

    creator = tf.train.ChiefSessionCreator(master=target)
    with tf.train.MonitoredSession(creator, hooks=[Hook()]) as session:
        assert session.run(y, {x: 3.0}) == 6.0
        assert session.should_stop()
    context, values = seen
    assert isinstance(context, tf.train.SessionRunContext) and context.stop_requested
    assert context.original_args.fetches is y and context.original_args.feed_dict == {x: 3.0}
    assert isinstance(values, tf.train.SessionRunValues) and values.results == {"x": 3.0}
    assert values._fields == ("results", "options", "run_metadata")
    fresh = tf.train.SessionRunContext(tf.train.SessionRunArgs([1]), "s")
    assert (fresh.session, fresh.stop_requested) == ("s", False)


@both
def test_batches_have_the_examples_that_are_kept(target: str) -> None:
    def numbers() -> Any:
        return tf.train.range_input_producer(12, num_epochs=1, shuffle=False).dequeue()

    x = numbers()
    shuffled = tf.train.maybe_shuffle_batch(
        [x], 4, 20, 3, tf.equal(x % 3, 0), seed=2, allow_smaller_final_batch=True
    )
    found = np.concatenate(values_until_the_end(shuffled, target)).tolist()
    assert sorted(found) == [0, 3, 6, 9]
    with tf.Graph().as_default():
        y, z = numbers(), numbers()
        joined = tf.train.maybe_batch_join(
            [[y], [z + 100]], tf.constant(True), 5, allow_smaller_final_batch=True
        )
        found = np.concatenate(values_until_the_end(joined, target)).tolist()
        assert sorted(found) == [*range(12), *range(100, 112)]
        assert [v for v in found if v < 100] == list(range(12))


def test_readers_and_accumulators_have_their_base_classes() -> None:
    kinds = (
        *(tf.TextLineReader, tf.WholeFileReader, tf.TFRecordReader, tf.IdentityReader),
        tf.FixedLengthRecordReader,
    )
    assert all(issubclass(kind, tf.ReaderBase) for kind in kinds)
    assert issubclass(tf.ConditionalAccumulator, tf.ConditionalAccumulatorBase)


@both
def test_a_reader_by_its_reference_reads_on(tmp_path: Path, target: str) -> None:
    path = tmp_path / "lines"
    path.write_text("a\nb\nc\n")
    queue = tf.FIFOQueue(2, tf.string)
    reader = tf.TextLineReader()
    same = tf.ReaderBase(reader.reader_ref)
    one, two = reader.read(queue), same.read_up_to(queue, 5)
    count = same.num_records_produced()
    with tf.Session(target) as session:
        session.run(queue.enqueue(str(path)))
        session.run(queue.close())
        assert session.run(one)[1] == b"a"
        assert session.run(two)[1].tolist() == [b"b", b"c"]
        assert session.run(count) == 3
    assert not same.supports_serialize


@both
def test_an_accumulator_by_its_reference_counts_on(target: str) -> None:
    made = tf.ConditionalAccumulator(tf.float32, [2])
    same = tf.ConditionalAccumulatorBase(tf.float32, tf.TensorShape([2]), made.accumulator_ref)
    assert same.dtype == tf.float32 and same.accumulator_ref is made.accumulator_ref
    steps = [made.apply_grad([1.0, 3.0], 0), made.apply_grad([3.0, 5.0], 0)]
    mean, size, late = made.take_grad(2), same.num_accumulated(), same.set_global_step(4)
    with tf.Session(target) as session:
        for step in steps:
            session.run(step)
        assert session.run(size) == 2
        assert session.run(mean).tolist() == [2.0, 4.0]
        session.run(late)
        session.run(steps[0])  # of an earlier step: dropped
        assert session.run(size) == 0


def test_profiles_are_messages_of_nodes_and_of_sums() -> None:
    x = tf.placeholder(tf.float32, [4, 3])
    with tf.variable_scope("layer"):
        w = tf.get_variable("w", [3, 2], initializer=tf.zeros_initializer())
        tf.matmul(x, w, name="y")
    options = {
        **tf.profiler.ProfileOptionBuilder.trainable_variables_parameter(), "output": "none",
    }  # fmt: skip
    graph = tf.get_default_graph()
    root = tf.profiler.profile(graph, cmd="scope", options=options)
    assert isinstance(root, tf.profiler.GraphNodeProto)
    assert root.total_parameters == 6
    names = [child.name for child in root.children]
    assert names == ["layer"] and root.children[0].children[0].name == "layer/w"
    assert root.children[0].children[0].parameters == 6
    floats = {**tf.profiler.ProfileOptionBuilder.float_operation(), "output": "none"}
    sums = tf.profiler.profile(graph, cmd="op", options=floats)
    assert isinstance(sums, tf.profiler.MultiGraphNodeProto)
    assert sums.total_float_ops == 2 * 4 * 3 * 2
