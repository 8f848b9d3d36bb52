"""Supervisor: sessions whose variables have values, threads that save, clean ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def counting() -> Any:
    """An operation that counts steps; the step is summarized."""
    step = tf.train.get_or_create_global_step()
    tf.summary.scalar("doubled", 2 * step)
    return tf.assign_add(step, 1)


def events(folder: Path) -> list[Any]:
    return [e for f in sorted(folder.glob("events*")) for e in tf.train.summary_iterator(str(f))]


@TARGETS
def test_training_goes_on_from_the_checkpoint_of_the_supervisor_before(
    tmp_path: Path, target: str
) -> None:
    seen = []
    for _ in range(2):
        with tf.Graph().as_default():
            count = counting()
            supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=1000)
            with supervisor.managed_session(target) as session:
                for _ in range(3):
                    seen.append(int(session.run(count)))
                supervisor.saver.save(session, supervisor.save_path, supervisor.global_step)
    assert seen == [1, 2, 3, 4, 5, 6]
    assert (tmp_path / "model.ckpt-6.index").exists()
    assert (tmp_path / "graph.pbtxt").exists()


def wait_for(found: Any, what: str) -> None:
    """Waits for a thread of a supervisor."""
    for _ in range(2000):
        if found():
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"no {what} within twenty seconds")


def test_the_standard_services_write_the_graph_summaries_and_checkpoints(tmp_path: Path) -> None:
    count = counting()
    supervisor = tf.train.Supervisor(
        logdir=str(tmp_path), save_summaries_secs=0.02, save_model_secs=0.02
    )
    with supervisor.managed_session() as session:
        session.run(count)

        def written() -> set[str]:
            supervisor.summary_writer.flush()
            return {v.tag for e in events(tmp_path) for v in e.summary.value}

        wait_for(lambda: written() >= {"doubled", "global_step/sec"}, "summary")
        wait_for(lambda: tf.train.latest_checkpoint(str(tmp_path)), "checkpoint")
    found = events(tmp_path)
    kinds = [e.WhichOneof("what") for e in found]
    assert kinds[:4] == ["file_version", "graph_def", "meta_graph_def", "session_log"]
    logs = [e.session_log for e in found if e.WhichOneof("what") == "session_log"]
    assert logs[0].status == tf.SessionLog.START
    assert logs[-1].status == tf.SessionLog.STOP
    saved = [log for log in logs if log.status == tf.SessionLog.CHECKPOINT]
    assert saved[0].checkpoint_path == str(tmp_path / "model.ckpt")
    for event in found:
        for value in event.summary.value:
            if value.tag == "doubled":
                assert value.simple_value == 2 * event.step


def test_the_defaults_are_members_of_collections_else_made_and_added() -> None:
    counting()
    given = tf.no_op(name="given")
    tf.add_to_collection(tf.GraphKeys.INIT_OP, given)
    supervisor = tf.train.Supervisor()
    assert supervisor.init_op is given
    assert supervisor.ready_for_local_init_op is None
    for key in ("READY_OP", "LOCAL_INIT_OP", "SAVERS", "SUMMARY_OP"):
        made = tf.get_collection(getattr(tf.GraphKeys, key))
        assert len(made) == 1
    assert supervisor.ready_op is tf.get_collection(tf.GraphKeys.READY_OP)[0]
    assert supervisor.save_path is None
    assert tf.get_default_graph().finalized


def test_none_leaves_a_piece_out() -> None:
    counting()
    pieces = dict.fromkeys(("ready_op", "local_init_op", "summary_op", "saver", "global_step"))
    supervisor = tf.train.Supervisor(**pieces)
    assert [getattr(supervisor, name) for name in pieces] == [None] * 5


@TARGETS
def test_init_op_is_fed_and_then_init_fn_is_called(target: str) -> None:
    fed = tf.placeholder(tf.float32, [2])
    v = tf.get_variable("v", initializer=fed)
    twice = v.assign(2 * v)
    supervisor = tf.train.Supervisor(
        init_feed_dict={fed: [1.0, 2.0]}, init_fn=lambda session: session.run(twice)
    )
    with supervisor.managed_session(target) as session:
        assert session.run(v).tolist() == [2.0, 4.0]


def test_a_model_that_is_not_ready_is_an_error_that_names_the_variable() -> None:
    tf.get_variable("v", [])
    supervisor = tf.train.Supervisor(init_op=tf.no_op())
    with pytest.raises(RuntimeError, match=r"Variables not initialized: v"):
        with supervisor.managed_session():
            raise AssertionError("no session was expected")


def test_the_error_of_a_context_or_thread_is_raised_at_its_end() -> None:
    counting()
    supervisor = tf.train.Supervisor()
    with pytest.raises(ArithmeticError, match="of the program"):
        with supervisor.managed_session():
            raise ArithmeticError("of the program")

    def fail() -> None:
        raise ArithmeticError("of a thread")

    with pytest.raises(ArithmeticError, match="of a thread"):
        with supervisor.managed_session():
            supervisor.loop(None, fail)
            supervisor.wait_for_stop()


def test_the_end_of_the_data_is_a_clean_end_and_closes_the_session() -> None:
    value = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
    supervisor, seen = tf.train.Supervisor(), []
    with supervisor.managed_session() as session:
        while not supervisor.should_stop():
            seen.append(int(session.run(value)))
    assert seen == [0, 1, 2]
    with pytest.raises(RuntimeError, match="closed"):
        session.run(value)


def test_a_loop_calls_its_function_until_the_stop() -> None:
    counting()
    supervisor, calls = tf.train.Supervisor(), []

    def call(number: int) -> None:
        calls.append(number)
        if len(calls) == 5:
            supervisor.request_stop()

    with supervisor.managed_session():
        thread = supervisor.loop(0.001, call, args=[7])
        supervisor.wait_for_stop()
    assert calls == [7] * 5
    assert not thread.is_alive()


def test_summary_computed_writes_at_the_step_of_the_session(tmp_path: Path) -> None:
    count = counting()
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), summary_op=None)
    summary = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)])
    with supervisor.managed_session(start_standard_services=False) as session:
        session.run(count)
        supervisor.summary_computed(session, summary)
        supervisor.summary_computed(session, summary, 9)
    steps = [e.step for e in events(tmp_path) for v in e.summary.value if v.tag == "loss"]
    assert steps == [1, 9]


def test_without_a_writer_summary_computed_is_an_error() -> None:
    counting()
    supervisor = tf.train.Supervisor()
    with supervisor.managed_session() as session:
        with pytest.raises(RuntimeError, match="requires a summary writer"):
            supervisor.summary_computed(session, b"")


def test_a_supervisor_that_is_no_chief_waits_and_does_not_write(tmp_path: Path) -> None:
    with tf.device("/job:ps/task:0/cpu:0"):
        tf.get_variable("v", [])
    supervisor = tf.train.Supervisor(is_chief=False, logdir=str(tmp_path), recovery_wait_secs=0.01)
    with pytest.raises(RuntimeError, match="Only chief supervisor"):
        supervisor.start_standard_services(None)
    assert supervisor.save_path is supervisor.summary_writer is None
    assert list(tmp_path.iterdir()) == []


def test_a_supervisor_that_is_no_chief_needs_devices_of_variables() -> None:
    tf.get_variable("v", [])
    with pytest.raises(ValueError, match=r"must have their device set: v"):
        tf.train.Supervisor(is_chief=False)


def test_the_basic_loop_goes_on_with_a_new_session_after_an_aborted_one(tmp_path: Path) -> None:
    count = counting()
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    seen: list[int] = []

    def step(session: Any, most: int, saves: bool) -> None:
        seen.append(int(session.run(count)))
        if saves and len(seen) == 2:
            supervisor.saver.save(session, supervisor.save_path, 2)
            raise tf.errors.AbortedError(None, None, "lost")
        if len(seen) == most:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, step, args=[4], kwargs={"saves": True})
    assert seen == [1, 2, 3, 4]


def test_a_worker_waits_for_variables_that_have_values() -> None:
    v = tf.get_variable("v", [])
    missing = tf.report_uninitialized_variables([v])
    never = tf.train.WorkerSessionCreator(max_wait_secs=0)
    with pytest.raises(tf.errors.DeadlineExceededError, match="Variables not initialized: v"):
        never.create_session()
    tf.get_default_graph()._unsafe_unfinalize()
    ready = tf.train.Scaffold(ready_op=tf.no_op(), ready_for_local_init_op=tf.no_op())
    with tf.train.MonitoredTrainingSession(is_chief=False, scaffold=ready) as session:
        assert session.run(missing).tolist() == [b"v"]


def test_the_waiting_hook_delays_the_first_run_until_the_step() -> None:
    step = tf.train.get_or_create_global_step()
    with tf.train.MonitoredSession(hooks=[tf.train.GlobalStepWaiterHook(3)]) as session:
        other = threading.Timer(0.05, step.load, [3, session.raw_session()])
        other.start()
        assert session.run(step) == 3
        other.join()


def test_a_folder_that_is_not_a_path_says_what_logdir_is() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="logdir=3 of a Supervisor"):
        tf.train.Supervisor(logdir=3)
