"""Checkpoints that stay: protected ones, the best by a metric, and copies."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Command
from crash_states import Contents, Operation, Recorder, Replica, states
from folders import GOLDEN
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf
from graphio.schema import checkpoint
from graphio.schema.model_pb2 import IteratorState
from graphio.storage import files, stores
from graphio.support import errors
from graphio.train.checkpoints import keeping, retention
from graphio.train.checkpoints.ranking import Ranking
from graphio.train.checkpoints.retention import FOR_EVER, Retention


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.Variable([1.0, 2.0], name="v")
        yield


def started() -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def steps_of(folder: Path) -> list[int]:
    return sorted(int(p.stem.split("-")[-1]) for p in folder.glob("m*-*.index"))


def by_loss(**more: Any) -> tf.train.Saver:
    """A Saver that keeps the newest and the best, of minimum loss."""
    options = {"max_to_keep": 1, "best_to_keep": 1, "best_metric": "loss", "best_mode": "min"}
    return tf.train.Saver(**{**options, **more})


def save_all(saver: tf.train.Saver, folder: Path, losses: list[float], first: int = 1) -> list[int]:
    """Saves a checkpoint a loss; the steps that are left."""
    session = started()
    for step, loss in enumerate(losses, first):
        saver.save(session, folder / "m", global_step=step, metrics={"loss": loss})
    saver.wait()
    return steps_of(folder)


# ---- protected by the program ----


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_is_kept_stays_over_restarts(asynchronous: bool, tmp_path: Path) -> None:
    session = started()
    saver = tf.train.Saver(max_to_keep=2, asynchronous=asynchronous)
    for step in range(1, 4):
        prefix = saver.save(session, tmp_path / "m", global_step=step)
        if step == 2:
            saver.keep(prefix)
    saver.wait()
    again = tf.train.Saver(max_to_keep=2)
    again.restore(session, tf.train.latest_checkpoint(tmp_path))
    for step in range(4, 7):
        again.save(session, tmp_path / "m", global_step=step)
    assert steps_of(tmp_path) == [2, 5, 6]
    assert tf.train.verify(tmp_path / "m-2").files == 3
    again.keep(str(tmp_path / "m-2"), keep=False)
    again.save(session, tmp_path / "m", global_step=7)
    assert steps_of(tmp_path) == [6, 7] and not (tmp_path / "m-2.keep").exists()


def test_another_process_keeps_a_checkpoint_of_a_run(tmp_path: Path) -> None:
    session, saver = started(), tf.train.Saver(max_to_keep=1)
    prefix = saver.save(session, tmp_path / "m", global_step=1)
    program = f"import graphio as tf; tf.train.keep_checkpoint({prefix!r})"
    subprocess.run([sys.executable, "-c", program], check=True)
    saver.save(session, tmp_path / "m", global_step=2)
    saver.save(session, tmp_path / "m", global_step=3)
    assert steps_of(tmp_path) == [1, 3]


def test_what_a_crash_kept_from_being_deleted_may_still_be_kept(tmp_path: Path) -> None:
    session, saver = started(), tf.train.Saver(max_to_keep=1)
    saver.save(session, tmp_path / "m", global_step=1)
    with pytest.MonkeyPatch.context() as crash:
        crash.setattr(checkpoint, "delete", lambda *_, **__: None)
        saver.save(session, tmp_path / "m", global_step=2)
    tf.train.keep_checkpoint(tmp_path / "m-1")
    again = tf.train.Saver(max_to_keep=1)
    again.restore(session, str(tmp_path / "m-2"))
    again.save(session, tmp_path / "m", global_step=3)
    assert steps_of(tmp_path) == [1, 3]


def test_a_checkpoint_that_is_removed_leaves_no_protection_to_its_name(tmp_path: Path) -> None:
    session, saver = started(), tf.train.Saver(max_to_keep=1)
    prefix = saver.save(session, tmp_path / "m", global_step=1)
    tf.train.keep_checkpoint(prefix)
    tf.train.remove_checkpoint(prefix)
    assert not list(tmp_path.glob("m-1*"))
    with pytest.raises(errors.NotFoundError, match="no checkpoint .*m-1' to keep"):
        tf.train.keep_checkpoint(prefix)


def test_a_checkpoint_that_is_deleted_at_the_moment_is_not_reported_as_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = tf.train.Saver().save(started(), tmp_path / "m", global_step=1)
    put = keeping.mark

    def late(where: Any, kind: str) -> None:
        checkpoint.delete(where)
        put(where, kind)

    monkeypatch.setattr(keeping, "mark", late)
    with pytest.raises(errors.NotFoundError, match="to keep"):
        tf.train.keep_checkpoint(prefix)
    assert not list(tmp_path.glob("m-1*"))


def test_what_is_kept_while_the_list_is_written_is_not_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, saver = started(), tf.train.Saver(max_to_keep=1)
    first = saver.save(session, tmp_path / "m", global_step=1)
    delete = checkpoint.delete

    def late(path: Any, *rest: Any, **more: Any) -> None:
        raise AssertionError(f"{path} is deleted")

    update = retention.checkpoint_state.write_state

    def updated(*given: Any, **more: Any) -> None:
        update(*given, **more)
        tf.train.keep_checkpoint(first)

    monkeypatch.setattr(retention.checkpoint_state, "write_state", updated)
    monkeypatch.setattr(checkpoint, "delete", late)
    saver.save(session, tmp_path / "m", global_step=2)
    monkeypatch.setattr(checkpoint, "delete", delete)
    monkeypatch.setattr(retention.checkpoint_state, "write_state", update)
    saver.save(session, tmp_path / "m", global_step=3)
    assert steps_of(tmp_path) == [1, 3]


def test_a_copy_whose_source_is_saved_meanwhile_has_the_graph_of_its_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint.write_checkpoint(tmp_path / "m", {"v": np.array([1.0])}, meta=b"first")
    graph_of, calls = checkpoint._graph_of, []

    def slowly(found: Any) -> bytes | None:
        if not calls:
            checkpoint.write_checkpoint(tmp_path / "m", {"v": np.array([2.0])}, meta=b"second")
        calls.append(found)
        return graph_of(found)

    monkeypatch.setattr(checkpoint, "_graph_of", slowly)
    checkpoint.copy(tmp_path / "m", tmp_path / "copy")
    copied = checkpoint.read_checkpoint(tmp_path / "copy")
    assert (copied.variables["v"].tolist(), copied.meta()) in [
        ([1.0], b"first"),
        ([2.0], b"second"),
    ]


def test_nothing_is_deleted_while_protection_cannot_be_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, saver = started(), tf.train.Saver(max_to_keep=1)
    saver.save(session, tmp_path / "m", global_step=1)
    with monkeypatch.context() as broken:
        broken.setattr(keeping, "marks", lambda _: (_ for _ in ()).throw(OSError("refused")))
        with pytest.warns(UserWarning, match="no checkpoint is deleted now.*refused"):
            saver.save(session, tmp_path / "m", global_step=2)
    assert steps_of(tmp_path) == [1, 2]
    saver.save(session, tmp_path / "m", global_step=3)
    assert steps_of(tmp_path) == [3]


def test_checkpoints_of_an_object_store_are_kept_likewise() -> None:
    folder = "memory://keeping"
    session, saver = started(), by_loss()
    for step, loss in enumerate([2.0, 1.0, 3.0, 4.0, 5.0], 1):
        prefix = saver.save(session, f"{folder}/m", global_step=step, metrics={"loss": loss})
        if step == 3:
            tf.train.keep_checkpoint(prefix)
    names = [n for n in stores.of_folder(folder).names() if n.endswith((".index", "keep", "best"))]
    assert names == ["m-2.best", "m-2.index", "m-3.index", "m-3.keep", "m-5.index"]


# ---- the best ----


def test_the_best_stay_beside_the_newest(tmp_path: Path) -> None:
    losses = [5.0, 1.0, 4.0, 2.0, 3.0, 6.0]
    saver = by_loss(max_to_keep=2, best_to_keep=2)
    assert save_all(saver, tmp_path, losses) == [2, 4, 5, 6]
    assert [os.path.basename(path) for path in saver.best_checkpoints] == ["m-2", "m-4"]
    assert tf.train.load_checkpoint(saver.best_checkpoints[0]).metrics() == {"loss": 1.0}


def test_the_largest_are_the_best_where_it_is_requested(tmp_path: Path) -> None:
    saver = by_loss(best_mode="max")
    assert save_all(saver, tmp_path, [1.0, 7.0, 2.0, 3.0]) == [2, 4]


def test_a_restart_goes_on_with_the_ranking(tmp_path: Path) -> None:
    save_all(by_loss(best_to_keep=2), tmp_path, [3.0, 1.0, 2.0, 9.0])
    again, session = by_loss(best_to_keep=2), started()
    again.restore(session, tf.train.latest_checkpoint(tmp_path))
    assert [os.path.basename(path) for path in again.best_checkpoints] == ["m-2", "m-3"]
    for step, loss in ((5, 1.5), (6, 8.0)):
        again.save(session, tmp_path / "m", global_step=step, metrics={"loss": loss})
    assert steps_of(tmp_path) == [2, 5, 6]
    assert sorted(path.name for path in tmp_path.glob("*.best")) == ["m-2.best", "m-5.best"]


def test_a_saver_that_ranks_nothing_deletes_no_best(tmp_path: Path) -> None:
    save_all(by_loss(), tmp_path, [1.0, 2.0])
    other, session = tf.train.Saver(max_to_keep=1), started()
    other.restore(session, tf.train.latest_checkpoint(tmp_path))
    other.save(session, tmp_path / "m", global_step=3)
    assert steps_of(tmp_path) == [1, 3]


@pytest.mark.parametrize("never", [None, {"loss": math.nan}])
def test_what_has_no_number_is_never_the_best(never: Any, tmp_path: Path) -> None:
    session, saver = started(), by_loss()
    for step, metrics in enumerate([never, {"loss": math.inf}, never, never], 1):
        saver.save(session, tmp_path / "m", global_step=step, metrics=metrics)
    assert steps_of(tmp_path) == [2, 4]


def test_a_crash_between_the_list_and_the_marks_keeps_no_old_best(tmp_path: Path) -> None:
    saver = by_loss()
    save_all(saver, tmp_path, [2.0, 3.0])
    with pytest.MonkeyPatch.context() as crash:
        crash.setattr(keeping, "unmark", lambda *_: None)
        crash.setattr(checkpoint, "delete", lambda *_, **__: None)
        saver.save(started(), tmp_path / "m", global_step=3, metrics={"loss": 1.0})
    again, session = by_loss(), started()
    again.restore(session, tf.train.latest_checkpoint(tmp_path))
    again.save(session, tmp_path / "m", global_step=4, metrics={"loss": 5.0})
    assert steps_of(tmp_path) == [3, 4]
    assert [path.name for path in tmp_path.glob("*.best")] == ["m-3.best"]


LOSSES = [3.0, 1.0, 4.0, 2.0, 0.5, 9.0]


def run_recorded(folder: Path) -> list[Operation]:
    """Saves of a run that keeps its newest and its best; the first is protected after the third."""
    recorder, kept = Recorder(), Retention(1, FOR_EVER, Ranking(1, "loss", "min"))
    for step, loss in enumerate(LOSSES):
        prefix, metrics = str(folder / f"m-{step}"), {"loss": loss}
        values = {"v": np.float32([step])}
        checkpoint.write_checkpoint(prefix, values, step=step, metrics=metrics, layer=recorder)
        kept.record(prefix, prefix, None, recorder, metrics=metrics)
        if step == 2:
            keeping.mark(folder / "m-1", keeping.KEPT, recorder)
        recorder.acknowledge(step)
    return recorder.operations


@pytest.mark.filterwarnings("ignore")
def test_no_kill_or_power_cut_loses_the_best_or_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    contents, after = Contents(), tmp_path / "after"
    replica = Replica(after, contents)
    kills, cuts = states(run_recorded(tmp_path / "real"), {}, contents)
    assert steps_of(tmp_path / "real") == [1, 4, 5] and len(cuts) > 200
    for content, acknowledged in [*kills.items(), *cuts.items()]:
        if acknowledged < 0:
            continue
        replica.copy(content)
        found = [checkpoint.read_checkpoint(after / f"m-{step}") for step in steps_of(after)]
        least = min(one.metrics["loss"] for one in found)
        assert least <= min(LOSSES[: acknowledged + 1]), sorted(content)
        assert acknowledged < 2 or 1 in [one.step for one in found], sorted(content)
        # A new process that goes on from there, whose save is the worst, deletes neither.
        newest = str(tf.train.latest_checkpoint(after))
        again = Retention(1, FOR_EVER, Ranking(1, "loss", "min"))
        again.adopt(newest)
        prefix, metrics = str(after / "m-9"), {"loss": 10.0}
        checkpoint.write_checkpoint(prefix, {}, step=9, metrics=metrics)
        again.record(prefix, prefix, None, files.SYSTEM, metrics=metrics)
        left = [checkpoint.read_checkpoint(after / f"m-{step}") for step in steps_of(after)]
        assert min(one.metrics["loss"] for one in left) <= min(LOSSES[: acknowledged + 1])
        assert acknowledged < 2 or 1 in [one.step for one in left]


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, math.nan]), min_size=1, max_size=8),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(["min", "max"]),
    st.sets(st.integers(1, 8), max_size=3),
)
def test_newest_and_best_are_those_of_the_rule(
    losses: list[float], newest: int, best: int, mode: str, restarts: set[int]
) -> None:
    options = {"max_to_keep": newest, "best_to_keep": best, "best_mode": mode}
    sign = 1 if mode == "min" else -1
    with tempfile.TemporaryDirectory() as name, tf.Graph().as_default():
        tf.Variable([1.0], name="v")
        folder, session, saver = Path(name), started(), by_loss(**options)
        alive: set[int] = set()
        for step, loss in enumerate(losses, 1):
            if step - 1 in restarts:
                saver = by_loss(**options)
                saver.restore(session, tf.train.latest_checkpoint(folder)) if alive else None
            saver.save(session, folder / "m", global_step=step, metrics={"loss": loss})
            alive.add(step)
            ranked = sorted(
                (sign * losses[i - 1], -i) for i in alive if not math.isnan(losses[i - 1])
            )
            alive = {*sorted(alive)[-newest:], *(-i for _, i in ranked[:best])}
            assert steps_of(folder) == sorted(alive)


def test_a_training_loop_keeps_its_best(tmp_path: Path) -> None:
    losses = np.array([9, 5, 1, 4, 8, 7, 6], np.float32)

    def train(steps: int) -> None:
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            loss = tf.gather(tf.constant(losses), tf.cast(step, tf.int32))
            with tf.control_dependencies([loss]):
                op = step.assign_add(1)
            tf.train.train(
                op, tmp_path, steps, metrics={"loss": loss, "all": tf.constant(losses)},
                save_steps=1, max_to_keep=1, best_to_keep=2, best_metric="loss", best_mode="min",
                progress=False, stop_on_nan=False,
            )  # fmt: skip

    train(4)
    train(7)
    assert steps_of(tmp_path) == [3, 4, 7]
    reader = tf.train.load_checkpoint(str(tmp_path / "model.ckpt-3"))
    assert reader.metrics() == {"loss": 1.0}


def test_a_monitored_session_saves_metrics(tmp_path: Path) -> None:
    step = tf.train.get_or_create_global_step()
    count = step.assign_add(1)
    away = tf.cast(tf.abs(count - 3), tf.float32)
    saver = tf.train.Saver(max_to_keep=1, best_to_keep=1, best_metric="away", best_mode="min")
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), scaffold=tf.train.Scaffold(saver=saver),
        save_checkpoint_steps=1, save_checkpoint_metrics={"away": away}, save_summaries_steps=None,
        log_step_count_steps=None,
    ) as session:  # fmt: skip
        for _ in range(5):
            session.run(count)
    assert steps_of(tmp_path) == [3, 5]


def test_arguments_that_cannot_be_are_reported_at_once(tmp_path: Path) -> None:
    refused: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"best_to_keep": 0}, ValueError, "best_to_keep is 0.*best_metric is None.*best_mode is N"),
        ({"best_to_keep": 1.5}, TypeError, "best_to_keep must be an int"),
        ({"best_metric": "loss"}, ValueError, "do nothing without best_to_keep"),
        ({"best_to_keep": 1, "best_metric": "a", "best_mode": "low"}, ValueError, '"min", as for'),
        ({"best_to_keep": 1, "best_metric": 3, "best_mode": "min"}, TypeError, "name of a metric"),
        (
            {"best_to_keep": 1, "best_metric": "a", "best_mode": "min", "max_to_keep": None},
            ValueError,
            "keeps all",
        ),
    ]  # fmt: skip
    for options, kind, text in refused:
        with pytest.raises(kind, match=text):
            tf.train.Saver(**options)
    step, best = tf.train.get_or_create_global_step(), {"best_to_keep": 1, "best_mode": "min"}
    for more, text in (
        ({"best_metric": "a", "metrics": {"b": step}}, "best_metric is 'a', expected one of .* b"),
        ({"best_metric": "a", "saver": tf.train.Saver()}, "give them to the Saver"),
    ):
        with pytest.raises(ValueError, match=text):
            tf.train.TrainingLoop(step, tmp_path, **best, **more)
    with pytest.raises(ValueError, match="best_metric is 'loss', expected one of metrics"):
        tf.train.TrainingLoop(step, tmp_path, saver=by_loss()).__enter__()
    with pytest.raises(ValueError, match="does nothing where checkpoint_dir is None"):
        tf.train.TrainingLoop(step, None, **best, best_metric="a")
    with pytest.raises(ValueError, match="save_checkpoint_metrics does nothing"):
        tf.train.MonitoredTrainingSession(save_checkpoint_metrics={"a": step})


def test_metrics_that_cannot_be_saved_are_refused(tmp_path: Path) -> None:
    session, saver = started(), by_loss()
    for metrics, kind, text in (
        ({"accuracy": 1.0, "f1": 2}, ValueError, "accuracy, f1, expected 'loss' among them"),
        ({"loss": [1.0, 2.0]}, TypeError, "'loss' is .*expected one number"),
        ({"loss": "1"}, TypeError, "expected one number"),
        ({3: 1.0}, TypeError, "expected names"),
        ({"": 1.0}, ValueError, "without a byte 0"),
        ([1.0], TypeError, "expected a dict of numbers"),
    ):
        with pytest.raises(kind, match=text):
            saver.save(session, tmp_path / "m", metrics=metrics)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_without_metrics_has_the_bytes_that_it_always_had(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    checkpoint.write_checkpoint(one, {}, save_id=1, time=2)
    checkpoint.write_checkpoint(other, {}, save_id=1, time=2, metrics={"loss": 1.0})
    head = [Path(f"{prefix}.index").read_bytes()[8:12] for prefix in (one, other)]
    assert head == [b"\1\0\0\0", b"\1\0\1\0"]


def test_a_listing_has_the_metrics(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    metrics = {"loss": 0.25, "never": math.nan}
    checkpoint.write_checkpoint(tmp_path / "m", {}, step=3, metrics=metrics)
    listing = tf.train.list_checkpoint(tmp_path / "m")
    assert listing.metrics["loss"] == 0.25 and ", step 3, loss 0.25, never nan:" in str(listing)
    assert "step 3, loss 0.25, never nan" in Command(capfd)("ls", tmp_path / "m").out


# ---- copies ----


def full(prefix: Path, size: int = 10_000) -> None:
    """A checkpoint that has everything, in three data files."""
    checkpoint.write_checkpoint(
        prefix,
        {
            "a": np.arange(size, dtype=np.float32), "b": np.array([b"x", b"yz", b""], object),
            "c": np.zeros((3, 0), np.int64), "d": np.array(True), "e": np.arange(7, dtype=np.int8),
        },
        {"rng": (1, 2), "it": IteratorState(epoch=3), "note": b"bytes"},
        step=5, meta=b"graph", slots={"e": ("a", "m")}, metrics={"loss": 0.25}, time=77,
        parts={"a": "1", "b": "2", "c": "2", "d": "3", "e": "3"},
    )  # fmt: skip


def contents(prefix: Any) -> Any:
    """All that a checkpoint holds but for its names."""
    found = checkpoint.read_checkpoint(prefix)
    rows = [
        (v.name, v.dtype, tuple(v.dims), v.shard, v.offset, v.crc32c, v.slot_of, v.slot)
        for v in found.index.variable
    ]
    resources = {k: getattr(v, "epoch", v) for k, v in found.resources.items()}
    return rows, resources, found.step, found.meta(), found.metrics, found.index.time


@pytest.mark.parametrize("targets", [("best",), ("new/best",), ("memory://copies/m", "back")])
def test_a_copy_holds_all_and_needs_nothing_of_its_source(
    targets: tuple[str, ...], tmp_path: Path
) -> None:
    full(tmp_path / "m-5")
    before, source = contents(tmp_path / "m-5"), str(tmp_path / "m-5")
    for target in targets:
        where = target if "//" in target else str(tmp_path / target)
        assert tf.train.copy_checkpoint(source, where) == where
        source = where
    tf.train.remove_checkpoint(str(tmp_path / "m-5"))
    assert contents(source) == before
    index = checkpoint.read_checkpoint(source).index
    base = stores.split(source)[1]
    assert all(s.file.startswith(f"{base}.data-") for s in index.shard) and len(index.shard) == 3


def test_a_copy_survives_the_retention_of_its_source(tmp_path: Path) -> None:
    session, saver = started(), tf.train.Saver(max_to_keep=1)
    saver.save(session, tmp_path / "m", global_step=1)
    best = tf.train.copy_checkpoint(tmp_path, tmp_path / "best")
    for step in range(2, 5):
        saver.save(session, tmp_path / "m", global_step=step)
    saver.restore(session, best)
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "m-4")
    assert "best" not in (tmp_path / "checkpoint").read_text()


def test_a_copy_of_damage_is_not_made(tmp_path: Path) -> None:
    full(tmp_path / "m")
    path = next(tmp_path.glob("m.data-*00002-of*"))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    (tmp_path / "to").mkdir()
    with pytest.raises(errors.DataLossError):
        tf.train.copy_checkpoint(tmp_path / "m", tmp_path / "to" / "m")
    assert list((tmp_path / "to").iterdir()) == []


def test_a_copy_replaces_only_when_requested(tmp_path: Path) -> None:
    full(tmp_path / "a", 10)
    full(tmp_path / "b", 20)
    with pytest.raises(errors.AlreadyExistsError, match="overwrite=True replaces it"):
        tf.train.copy_checkpoint(tmp_path / "a", tmp_path / "b")
    tf.train.copy_checkpoint(tmp_path / "a", tmp_path / "b", overwrite=True)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert len(list(tmp_path.glob("b.*"))) == 5


def test_what_cannot_be_copied_is_reported(tmp_path: Path) -> None:
    full(tmp_path / "a", 10)
    (tmp_path / "link").symlink_to(tmp_path)
    golden = GOLDEN / "foreign" / "tf_saver"
    for source, target, kind, text in (
        (tmp_path / "a", tmp_path / "link" / "a", errors.InvalidArgumentError, "is the checkpoint"),
        (tmp_path / "x", tmp_path / "y", errors.NotFoundError, "no checkpoint .*x' to copy"),
        (tmp_path / "a", tmp_path / "no" / "no" / "y", errors.NotFoundError, "there is no folder"),
        (golden, tmp_path / "y", errors.InvalidArgumentError, "TensorFlow's: copy its files"),
        (tmp_path / "a", tmp_path / ".y", errors.InvalidArgumentError, "cannot be called"),
    ):
        with pytest.raises(kind, match=text):
            tf.train.copy_checkpoint(source, target)
    assert sorted(p.name.split(".")[0] for p in tmp_path.iterdir()) == ["a"] * 5 + ["link"]


def test_a_copy_holds_one_variable_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(tmp_path / "a")
    requested: list[str] = []
    stored = checkpoint.Checkpoint.stored

    def counted(self: Any, name: str, **options: Any) -> Any:
        requested.append(name)
        return stored(self, name, **options)

    monkeypatch.setattr(checkpoint.Checkpoint, "stored", counted)
    tf.train.copy_checkpoint(tmp_path / "a", tmp_path / "b")
    assert sorted(requested) == [
        "a",
        "b",
        "b",
        "c",
        "d",
        "e",
    ]  # b holds strings: it is read once for their sizes


def test_a_source_that_is_saved_again_meanwhile_is_copied_as_it_is_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(tmp_path / "a", 10)
    real, times = checkpoint.write_checkpoint, iter([0])

    def late(*arguments: Any, **options: Any) -> None:
        for _ in times:
            full(tmp_path / "a", 30)
            raise errors.DataLossError(message="a data file is missing")
        real(*arguments, **options)

    monkeypatch.setattr(checkpoint, "write_checkpoint", late)
    tf.train.copy_checkpoint(tmp_path / "a", tmp_path / "b")
    assert checkpoint.read_checkpoint(tmp_path / "b").variables["a"].size == 30


def test_the_best_cannot_be_kept_beside_all_of_a_saver_def() -> None:
    started()
    everything = tf.train.Saver(max_to_keep=None).as_saver_def()
    with pytest.raises(ValueError, match="best_to_keep does nothing"):
        by_loss(saver_def=everything, best_to_keep=1)
