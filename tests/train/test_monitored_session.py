"""Monitored sessions and their hooks: stopping, going on, logging, saving, summaries."""

from __future__ import annotations

import errno
import logging as python_logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.storage import files

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    tf.summary.FileWriterCache.clear()


def training() -> tuple[Any, Any]:
    """An operation that halves w, which starts at 8, and counts steps; and w."""
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=8.0)
    return tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(w), global_step=step), w


class Diary(tf.train.SessionRunHook):
    """Writes down what is called, and fetches and feeds in each run."""

    def __init__(self, fetches: Any = None, feeds: Any = None, stop_after: int = 0) -> None:
        self.lines: list[str] = []
        self.results: list[Any] = []
        self.fetches, self.feeds, self.stop_after = fetches, feeds, stop_after

    def begin(self) -> None:
        self.lines.append("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        assert isinstance(session, tf.Session) and isinstance(coord, tf.train.Coordinator)
        self.lines.append("created")

    def before_run(self, run_context: Any) -> Any:
        assert not run_context.stop_requested
        self.lines.append(f"before {run_context.original_args.fetches}")
        return tf.train.SessionRunArgs(self.fetches, self.feeds)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.lines.append("after")
        self.results.append(run_values.results)
        if len(self.results) == self.stop_after:
            run_context.request_stop()

    def end(self, session: Any) -> None:
        session.run([])
        self.lines.append("end")


# ---- sessions ----


@TARGETS
def test_hooks_are_called_around_each_run(target: str) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = x * 2.0
    hook = Diary({"y": y}, {x: 4.0}, stop_after=2)
    with tf.train.MonitoredTrainingSession(target, hooks=[hook]) as session:
        assert session.graph is tf.get_default_graph() and session.graph.finalized
        values = []
        while not session.should_stop():
            values.append(session.run("x:0"))
        with pytest.raises(RuntimeError, match="after should_stop requested"):
            session.run(y)
    assert values == [4, 4] and hook.results == [{"y": 8}, {"y": 8}]
    assert hook.lines == ["begin", "created", *["before x:0", "after"] * 2, "end"]
    assert session.should_stop() and session.graph is None
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(y)


def test_a_tensor_is_fed_once() -> None:
    x = tf.placeholder(tf.float32, [])
    feeder = tf.train.FeedFnHook(lambda: {x: 1.0})
    with tf.train.MonitoredSession(hooks=[feeder]) as session:
        assert session.run(x) == 1
        with pytest.raises(RuntimeError, match="a SessionRunHook and user"):
            session.run(x, {x: 2.0})
    with tf.train.SingularMonitoredSession(hooks=[feeder, feeder]) as session:
        with pytest.raises(RuntimeError, match="two hooks"):
            session.run(x)


@TARGETS
def test_the_end_of_the_data_ends_a_session_cleanly(target: str) -> None:
    hook = Diary()
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(master=target), [hook]):
        raise tf.errors.OutOfRangeError(None, None, "end of sequence")
    assert hook.lines[-1] == "end"
    other = Diary()
    with pytest.raises(ValueError, match="mine"), tf.train.MonitoredSession(hooks=[other]):
        raise ValueError("mine")
    assert other.lines == ["begin", "created"]


@TARGETS
def test_an_iterator_is_begun_and_ends_the_session(target: str) -> None:
    iterator = tf.data.Dataset.range(3).make_initializable_iterator()
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    element, seen = iterator.get_next() * 10, []
    with tf.train.MonitoredTrainingSession(target) as session:
        while not session.should_stop():
            seen.append(session.run(element))
    assert seen == [0, 10, 20]


@TARGETS
def test_training_stops_and_goes_on_from_its_checkpoint(target: str, tmp_path: Path) -> None:
    seen = []
    for _ in range(2):
        with tf.Graph().as_default():
            step, w = training()
            hooks = [tf.train.StopAtStepHook(num_steps=3)]
            with tf.train.MonitoredTrainingSession(
                target, checkpoint_dir=str(tmp_path), hooks=hooks, save_checkpoint_steps=2,
                save_summaries_steps=None, log_step_count_steps=None,
            ) as session:  # fmt: skip
                while not session.should_stop():
                    session.run(step)
                    raw = session.run_step_fn(lambda step_context: step_context.session)
                    seen.append(float(raw.run(w)))
    assert seen == [4, 2, 1, 0.5, 0.25, 0.125]
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-6")
    kept = tf.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths
    assert [path.rsplit("-", 1)[1] for path in kept] == ["0", "2", "3", "5", "6"]


def test_a_scaffold_says_how_to_begin() -> None:
    a, b = tf.get_variable("a", initializer=1.0), tf.get_variable("b", initializer=2.0)
    p = tf.placeholder(tf.float32, [])
    scaffold = tf.train.Scaffold(
        init_op=tf.group(b.initializer, a.assign(p)), init_feed_dict={p: 7.0},
        init_fn=lambda scaffold, session: b.load(9.0, session),
    )  # fmt: skip
    with tf.train.SingularMonitoredSession(scaffold=scaffold) as session:
        assert session.run([a, b]) == [7, 9] and session.raw_session().run(a) == 7
    assert isinstance(scaffold.saver, tf.train.Saver)


def test_a_session_that_is_not_ready_is_refused() -> None:
    a = tf.get_variable("a", initializer=1.0)
    tf.get_variable("forgotten", initializer=1.0)
    scaffold = tf.train.Scaffold(init_op=a.initializer)
    with pytest.raises(RuntimeError, match="without a value: forgotten"):
        tf.train.MonitoredTrainingSession(scaffold=scaffold)


def test_a_scaffold_reports_global_variables_before_local_ones_are_initialised() -> None:
    a = tf.get_variable("a", initializer=1.0)
    b = tf.get_variable(
        "b", initializer=a * 2.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False
    )
    first, second = tf.train.Scaffold(), tf.train.Scaffold()
    assert first.ready_for_local_init_op is None and first.finalize() is first
    assert second.finalize().ready_for_local_init_op is first.ready_for_local_init_op
    with tf.Session() as session:
        assert list(session.run(first.ready_for_local_init_op)) == [b"a"]
        assert sorted(session.run(first.ready_op)) == [b"a", b"b"]
        session.run(first.init_op)
        assert len(session.run(first.ready_for_local_init_op)) == 0
        session.run(first.local_init_op)
        assert session.run(b) == 2 and len(session.run(first.ready_op)) == 0


def test_a_local_initialisation_waits_for_global_variables() -> None:
    tf.get_variable("forgotten", initializer=1.0)
    nothing = tf.no_op()
    scaffold = tf.train.Scaffold(init_op=nothing, ready_op=nothing)
    with pytest.raises(RuntimeError, match="ready for local_init.*a value: forgotten"):
        tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold))
    scaffold = tf.train.Scaffold(ready_for_local_init_op=nothing, copy_from_scaffold=scaffold)
    with tf.train.SingularMonitoredSession(scaffold=scaffold) as session:
        assert not session.should_stop()


def test_a_scaffold_copies_what_another_was_given_and_its_pieces_cannot_be_set() -> None:
    called: list[Any] = []
    first = tf.train.Scaffold(
        init_fn=lambda scaffold, session: called.append((scaffold, session)),
        local_init_feed_dict={"a": 1}, ready_for_local_init_op=6,
    )  # fmt: skip
    second = tf.train.Scaffold(copy_from_scaffold=first, ready_for_local_init_op=7)
    second.init_fn("session")
    assert called == [(second, "session")] and second.local_init_feed_dict == {"a": 1}
    assert (first.ready_for_local_init_op, second.ready_for_local_init_op) == (6, 7)
    with pytest.raises(AttributeError):
        second.saver = 1
    with pytest.raises(TypeError, match="copy_from_scaffold is 1"):
        tf.train.Scaffold(copy_from_scaffold=1)


def test_a_collection_gives_a_scaffold_its_one_member() -> None:
    get = tf.train.Scaffold.get_or_default
    assert get("init_op", "mine", lambda: None) is None and tf.get_collection("mine") == []
    assert get("init_op", "mine", lambda: "made") == "made"
    assert get("init_op", "mine", lambda: "again") == "made"
    tf.add_to_collection("mine", "another")
    with pytest.raises(RuntimeError, match=r"More than one item.*'mine'.*Scaffold\(init_op=...\)"):
        get("init_op", "mine", lambda: None)


def test_a_session_creator_without_its_method_is_refused() -> None:
    class Mine(tf.train.SessionCreator):
        pass

    with pytest.raises(NotImplementedError, match="Mine has no create_session"):
        tf.train.MonitoredSession(Mine())
    assert issubclass(tf.train.ChiefSessionCreator, tf.train.SessionCreator)


# ---- ends ----


def test_a_step_function_may_request_a_stop() -> None:
    tf.constant(1.0)
    session = tf.train.MonitoredSession()
    with pytest.raises(StopIteration):
        session.run_step_fn(lambda step_context: step_context.request_stop())
    assert not session.should_stop()
    with session:
        session.run_step_fn(lambda step_context: step_context.request_stop())
    assert session.should_stop()


def test_a_step_function_takes_a_step_context_alone() -> None:
    class Model:
        def good(self, step_context: Any) -> int:
            return 7

        def bad(self, step_context: Any, other: Any) -> None:
            pass

    with tf.train.MonitoredSession() as session:
        assert session.run_step_fn(Model().good) == 7
        for wrong in (Model().bad, lambda context: 1, lambda: 1, lambda step_context, x: 1):
            with pytest.raises(ValueError, match="`step_fn` may either have one `step_context`"):
                session.run_step_fn(wrong)


@pytest.mark.parametrize("finalized", [False, True])
def test_a_graph_is_finalized_while_its_session_is_there(finalized: bool) -> None:
    graph = tf.get_default_graph()
    if finalized:
        tf.train.Scaffold().finalize()
    with pytest.raises(KeyError), tf.train.MonitoredSession() as session:
        assert session.graph is graph and graph.finalized
        raise KeyError
    assert graph.finalized is finalized and session.graph is None


def test_a_session_ends_once() -> None:
    hook = Diary()
    with pytest.raises(RuntimeError, match="Session is already closed"):
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            session.close()
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run([])
    assert hook.lines == ["begin", "created", "end"]


# ---- sessions that are lost ----

LOST = pytest.mark.parametrize("kind", [tf.errors.AbortedError, tf.errors.UnavailableError])


class Loses(Diary):
    """Raises an error once, or more often, in the run after so many."""

    def __init__(self, error: Any, runs: int, method: str = "before_run", times: int = 1) -> None:
        super().__init__()
        self.error, self.runs, self.method, self.times = error, runs, method, times

    def _count(self, method: str) -> None:
        if method == self.method:
            self.runs -= 1
            if self.runs < 0 and self.times:
                self.times -= 1
                raise self.error

    def after_create_session(self, session: Any, coord: Any) -> None:
        super().after_create_session(session, coord)
        self._count("after_create_session")

    def before_run(self, run_context: Any) -> Any:
        self._count("before_run")
        return super().before_run(run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        super().after_run(run_context, run_values)
        self._count("after_run")


@TARGETS
@LOST
def test_a_lost_session_begins_anew(target: str, kind: Any, caplog: Any) -> None:
    step = tf.train.get_or_create_global_step()
    more = tf.assign_add(step, 1)
    hook = Loses(kind(None, None, "gone"), 2, times=2)
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(master=target), [hook]) as session:
        assert [session.run(more) for _ in range(4)] == [1, 2, 1, 2]
        assert not session.should_stop()
    assert hook.lines.count("created") == 3 and hook.lines.count("begin") == 1
    assert (
        caplog.messages == [f"the session is lost and made again, after {kind.__name__}: gone"] * 2
    )


@TARGETS
@LOST
def test_a_lost_session_goes_on_from_its_checkpoint(target: str, kind: Any, tmp_path: Path) -> None:
    step = tf.train.get_or_create_global_step()
    more = tf.assign_add(step, 1)
    hook = Loses(kind(None, None, "gone"), 2)
    with tf.train.MonitoredTrainingSession(
        target, checkpoint_dir=str(tmp_path), hooks=[hook], save_checkpoint_steps=1,
        save_summaries_steps=None, log_step_count_steps=None,
    ) as session:  # fmt: skip
        assert [session.run(more) for _ in range(4)] == [1, 2, 3, 4]


@pytest.mark.parametrize("method", ["after_create_session", "after_run"])
def test_a_session_is_lost_wherever_a_hook_says_so(method: str) -> None:
    hook = Loses(tf.errors.AbortedError(None, None, "gone"), 0, method)
    seven = tf.constant(7)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(seven) == 7
    assert hook.lines.count("created") == 2 and hook.lines[-1] == "end"


def test_a_session_that_is_lost_while_it_begins_is_made_again() -> None:
    calls: list[Any] = []

    def init_fn(scaffold: Any, session: Any) -> None:
        calls.append(session)
        if len(calls) == 1:
            raise tf.errors.AbortedError(None, None, "gone")

    one = tf.constant(1)
    creator = tf.train.ChiefSessionCreator(tf.train.Scaffold(init_fn=init_fn))
    with tf.train.MonitoredSession(creator) as session:
        assert session.run(one) == 1
    with pytest.raises(RuntimeError, match="closed Session"):
        calls[0].run(one)


def test_a_thread_of_a_hook_may_lose_a_session_or_end_it() -> None:
    class Thread(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            self.coordinator = coord

    one, hook = tf.constant(1), Thread()
    session = tf.train.MonitoredSession(hooks=[hook])
    hook.coordinator.request_stop(tf.errors.AbortedError(None, None, "gone"))
    lost = session.raw_session()
    assert not session.should_stop() and session.raw_session() is not lost
    hook.coordinator.request_stop(tf.errors.UnknownError(None, None, "broken"))
    assert session.should_stop() and session.run(one) == 1
    with pytest.raises(tf.errors.UnknownError, match="broken"):
        session.close()


def test_a_step_function_is_called_again_when_its_session_is_lost() -> None:
    x = tf.placeholder(tf.float32, [])
    calls: list[Any] = []

    def step(step_context: Any) -> Any:
        calls.append(step_context)
        if len(calls) == 1:
            raise tf.errors.AbortedError(None, None, "gone")
        with pytest.raises(RuntimeError, match="closed Session"):
            step_context.session.run(x, {x: 1.0})
        return step_context.run_with_hooks(x, {x: 3.0})

    with tf.train.MonitoredSession() as session:
        assert session.run_step_fn(step) == 3 and len(calls) == 2
        raw = session.run_step_fn(lambda step_context: step_context.session)
        assert raw is session.raw_session()


@LOST
def test_a_singular_session_is_not_made_again(kind: Any) -> None:
    one, hook = tf.constant(1), Loses(kind(None, None, "gone"), 0)
    with pytest.raises(kind, match="gone"):
        with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
            session.run(one)
    assert hook.lines.count("created") == 1


@pytest.mark.parametrize(
    "error",
    [
        files.failed(OSError(errno.EIO, "broken"), "write", "a.index"),
        files.taken_away("'a.index' was not committed. Save again"),
    ],
)
def test_an_error_of_a_file_loses_no_session(error: Any) -> None:
    one, hook = tf.constant(1), Loses(error, 0, "after_run")
    with pytest.raises(tf.errors.UnavailableError, match="'a.index'"):
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            session.run(one)
    assert hook.lines.count("created") == 1


# ---- hooks ----


def logged(hooks: Any, runs: int, caplog: Any) -> list[str]:
    step, _ = training()
    with caplog.at_level(python_logging.INFO, logger="graphio"):
        with tf.train.MonitoredSession(hooks=hooks) as session:
            for _ in range(runs):
                session.run(step)
    return [record.getMessage() for record in caplog.records]


def test_tensors_are_logged_every_so_often(caplog: Any) -> None:
    w = tf.get_variable("other", initializer=2.5)
    hook = tf.train.LoggingTensorHook({"a": w, "b": "other:0"}, every_n_iter=3, at_end=True)
    lines = logged([hook], 4, caplog)
    assert lines[0] == "a = 2.5, b = 2.5" and len(lines) == 3
    assert all(
        line.startswith("a = 2.5, b = 2.5 (") and line.endswith(" sec)") for line in lines[1:]
    )


def test_a_formatter_writes_what_is_logged(caplog: Any) -> None:
    w = tf.get_variable("other", initializer=2.5)
    every = lambda values: f"w is {values['other:0']}"  # noqa: E731
    lines = logged([tf.train.LoggingTensorHook([w], at_end=True, formatter=every)], 2, caplog)
    assert lines == ["w is 2.5"]


def test_steps_are_counted(caplog: Any) -> None:
    lines = logged([tf.train.StepCounterHook(every_n_steps=2)], 6, caplog)
    assert len(lines) == 2 and all(line.startswith("global_step/sec: ") for line in lines)


def test_a_loss_that_is_no_number_ends_the_training() -> None:
    x = tf.placeholder(tf.float32, [])
    error = tf.train.NanLossDuringTrainingError
    with pytest.raises(error, match="NaN loss"):
        with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(x)]) as session:
            session.run(x, {x: 1.0})
            session.run(x, {x: np.nan})
    quiet = tf.train.NanTensorHook(x, fail_on_nan_loss=False)
    with tf.train.MonitoredSession(hooks=[quiet]) as session:
        session.run(x, {x: np.nan})
        assert session.should_stop()


def test_final_operations_run_at_the_end() -> None:
    step, w = training()
    hook = tf.train.FinalOpsHook([w])
    with tf.train.MonitoredSession(hooks=[hook, tf.train.StopAtStepHook(last_step=2)]) as session:
        while not session.should_stop():
            session.run(step)
    assert hook.final_ops_values == [2.0]


def test_listeners_learn_of_checkpoints(tmp_path: Path) -> None:
    reported: list[Any] = []

    class Listener(tf.train.CheckpointSaverListener):
        def before_save(self, session: Any, global_step_value: int) -> None:
            reported.append(("before", global_step_value))

        def after_save(self, session: Any, global_step_value: int) -> bool:
            reported.append(("after", global_step_value))
            return global_step_value >= 4

        def end(self, session: Any, global_step_value: int) -> None:
            reported.append(("end", global_step_value))

    step, _ = training()
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=2, listeners=[Listener()])
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        while not session.should_stop():
            session.run(step)
    saves = [(when, n) for n in (0, 2, 4) for when in ("before", "after")]
    assert reported == [*saves, ("end", 4)]


def test_summaries_are_written_every_so_often(tmp_path: Path) -> None:
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    step, w = training()
    tf.summary.scalar("weight", w)
    with tf.train.MonitoredTrainingSession(
        summary_dir=str(tmp_path), save_summaries_steps=2, log_step_count_steps=2
    ) as session:
        for _ in range(5):
            session.run(step)
    found = accumulators.EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in found.Scalars("weight")] == [(1, 8), (3, 2), (5, 0.5)]
    assert [e.step for e in found.Scalars("global_step/sec")] == [3, 5]


def test_hooks_that_cannot_be_are_refused(tmp_path: Path) -> None:
    train = tf.train
    for make, words in (
        (lambda: train.StopAtStepHook(), "num_steps or last_step"),
        (lambda: train.StopAtStepHook(1, 2), "num_steps or last_step"),
        (lambda: train.LoggingTensorHook([]), "every_n_iter"),
        (lambda: train.LoggingTensorHook([], every_n_iter=0), "invalid every_n_iter"),
        (lambda: train.CheckpointSaverHook("d"), "every_secs or every_steps"),
        (lambda: train.CheckpointSaverHook("d", save_secs=1, save_steps=1), "both"),
        (lambda: train.SummarySaverHook(1), "scaffold or summary_op"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    tf.constant(1.0)
    with pytest.raises(RuntimeError, match="Global step should be created.*StopAtStepHook"):
        train.MonitoredSession(hooks=[train.StopAtStepHook(1)])


@pytest.mark.parametrize(
    ("signals", "kind", "announced"),
    [
        ([9], ValueError, r"stop_signals has 9 \(SIGKILL\), which no process can catch"),
        ([999], ValueError, "stop_signals has 999, which is not a signal"),
        (15, TypeError, "stop_signals is 15, expected a list"),
    ],
)
def test_signals_that_cannot_be_caught_are_refused_first(
    signals: Any, kind: type[Exception], announced: str, tmp_path: Path
) -> None:
    tf.train.get_or_create_global_step()
    folder = tmp_path / "run"
    with pytest.raises(kind, match=announced):
        tf.train.MonitoredTrainingSession(checkpoint_dir=str(folder), stop_signals=signals)
    with pytest.raises(kind, match=announced):
        tf.train.TrainingLoop(tf.no_op(), folder, stop_signals=signals)
    assert not folder.exists()


def test_a_session_is_closed_when_a_hook_cannot_begin() -> None:
    sessions = []

    class Fails(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            sessions.append(session)
            raise OSError("disk full")

    one = tf.constant(1.0)
    with pytest.raises(OSError, match="disk full"):
        tf.train.MonitoredSession(hooks=[Fails()])
    with pytest.raises(RuntimeError, match="closed Session"):
        sessions[0].run(one)


def test_a_hook_saves_by_one_saver(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="both saver and scaffold"):
        tf.train.CheckpointSaverHook(
            str(tmp_path), save_steps=1, saver=object(), scaffold=tf.train.Scaffold()
        )


def graphs(folder: Path) -> list[list[str]]:
    """Names of the nodes of each graph in a folder's event files."""
    graph_pb2 = pytest.importorskip("tensorboard.compat.proto.graph_pb2")
    train_files = sorted(folder.glob("events.out.tfevents.*"))
    events = [e for file in train_files for e in tf.train.summary_iterator(str(file))]
    found = [e.graph_def for e in events if e.graph_def]
    return [[node.name for node in graph_pb2.GraphDef.FromString(g).node] for g in found]


@pytest.mark.parametrize("folders", [("", ""), ("", "summaries"), (None, "summaries")])
def test_a_training_writes_its_graph_for_tensorboard_once(
    folders: tuple[str | None, str], tmp_path: Path
) -> None:
    checkpoints, summaries = (None if f is None else tmp_path / f for f in folders)
    assert summaries is not None
    tf.train.get_or_create_global_step()
    w = tf.get_variable("weights", [2])
    for _ in range(2):
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=None if checkpoints is None else str(checkpoints),
            summary_dir=str(summaries),
        ) as session:
            session.run(w)
    for folder in {checkpoints, summaries} - {None}:
        assert folder is not None
        (names,) = graphs(folder)
        assert {"weights", "global_step"} <= set(names)


def test_another_graph_in_the_same_folder_is_written_too(tmp_path: Path) -> None:
    for name in ("first", "second"):
        with tf.Graph().as_default():
            tf.train.get_or_create_global_step()
            tf.get_variable(name, [])
            with tf.train.MonitoredTrainingSession(checkpoint_dir=None, summary_dir=str(tmp_path)):
                pass
    assert ["first" in names for names in graphs(tmp_path)] == [True, False]


def test_a_training_without_tensorboard_saves_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto", None)
    step = tf.train.get_or_create_global_step()
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
        session.run(step)
    assert tf.train.latest_checkpoint(str(tmp_path)) and not [*tmp_path.glob("events*")]


class _Summaries:
    """A summary writer that keeps the steps."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def add_summary(self, summary: Any, step: int) -> None:
        self.steps.append(step)

    def flush(self) -> None:
        pass


def test_a_hook_asks_for_summaries_in_the_run_that_reaches_its_step() -> None:
    w, step = tf.Variable(1.0), tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(w * w, global_step=step)
    written = _Summaries()
    hook = tf.train.SummarySaverHook(
        save_steps=3, summary_writer=written, summary_op=tf.summary.scalar("w", w)
    )
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        seen = [int(session.run([train, step])[1]) for _ in range(8)]
    assert written.steps == [1, 4, 7] and seen == [1, 2, 3, 4, 5, 6, 7, 8]


# ---- SessionManager ----


def managed(**options: Any) -> tuple[tf.Variable, tf.Variable, tf.train.SessionManager]:
    """A global and a local variable that starts from it, and a manager that knows both."""
    v = tf.Variable(1.0, name="v")
    w = tf.Variable(3.0 * v, name="w", trainable=False, collections=["local_variables"])
    manager = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables(), local_init_op=w.initializer,
        ready_for_local_init_op=tf.report_uninitialized_variables([v]), recovery_wait_secs=0.01,
        **options,
    )  # fmt: skip
    return v, w, manager


def test_a_manager_initialises_or_restores(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        v, w, manager = managed()
        saver = tf.train.Saver([v])
        options = {"saver": saver, "checkpoint_dir": str(tmp_path)}
        with manager.prepare_session("", init_op=v.initializer, **options) as session:
            assert session.run([v, w]) == [1, 3]
            session.run(v.assign(5.0))
            path = saver.save(session, tmp_path / "model")
        with manager.prepare_session("", init_op=v.initializer, **options) as session:
            assert session.run([v, w]) == [5, 15]
        session, ready = manager.recover_session("", saver, checkpoint_filename_with_path=path)
        assert ready and session.run(v) == 5
        with pytest.raises(ValueError, match="Can not provide both"):
            manager.recover_session("", saver, str(tmp_path), path)


def test_a_manager_tells_what_is_missing(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        v, w, manager = managed()
        with pytest.raises(RuntimeError, match="ready for local_init.* initialized: v"):
            manager.prepare_session("")
        session, ready = manager.recover_session(
            "", tf.train.Saver([v]), str(tmp_path), wait_for_checkpoint=True, max_wait_secs=0.05
        )
        assert not ready and not session.run(tf.is_variable_initialized(w))
        with pytest.raises(tf.errors.DeadlineExceededError, match="initialized: v"):
            manager.wait_for_session("", max_wait_secs=0.05)
        bare = tf.train.SessionManager(ready_op=tf.assert_variables_initialized([v, w]))
        with pytest.raises(RuntimeError, match="no init_op or init_fn"):
            bare.prepare_session("")
        with pytest.raises(RuntimeError, match="did not make model ready.*uninitialized value w"):
            bare.prepare_session("", init_fn=lambda session: session.run(v.initializer))
        with pytest.raises(ValueError, match="also pass a local_init_op"):
            tf.train.SessionManager(ready_for_local_init_op=tf.no_op())


def test_a_manager_waits_for_a_session_that_is_ready() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(2.0, collections=["local_variables"])
        manager = tf.train.SessionManager(
            v.initializer, tf.report_uninitialized_variables(), local_init_feed_dict={}
        )
        with manager.wait_for_session("", max_wait_secs=5) as session:
            assert session.run(v) == 2


def test_a_manager_closes_the_sessions_that_it_does_not_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tf.Session] = []

    class Noted(tf.Session):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr("graphio.train.loops.session_manager.Session", Noted)
    with tf.Graph().as_default():
        v, _, manager = managed()
        wrong = tf.train.SessionManager(tf.Assert(False, ["wrong"]))
        missing = str(tmp_path / "none")
        for attempt, error in (
            (lambda: manager.prepare_session(""), RuntimeError),
            (lambda: wrong.recover_session(""), tf.errors.InvalidArgumentError),
            (lambda: wrong.wait_for_session(""), tf.errors.InvalidArgumentError),
            (
                lambda: manager.recover_session(
                    "", tf.train.Saver([v]), checkpoint_filename_with_path=missing
                ),
                ValueError,
            ),
        ):
            with pytest.raises(error):
                attempt()
    assert len(made) == 4 and all(session.closed for session in made)
