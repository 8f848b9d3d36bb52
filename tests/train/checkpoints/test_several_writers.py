"""Savers that meet in one folder: what locks, ages and lost answers may do to them."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from crash_states import Recorder
from proofs import contenders, workload
from proofs.contenders import found, save
from proofs.kills import strays
from proofs.turns import Play, emptied

from graphio.schema import checkpoint_cleaner
from graphio.schema.checkpoint import read_checkpoint, write_checkpoint
from graphio.storage import commit_record, files
from graphio.support import errors


def save_other(folder: Path, layer: files.FileLayer) -> int:
    """Saves to another prefix of the folder."""
    write_checkpoint(folder / "other", {}, meta=b"other", save_id=77, layer=layer)
    return 7


def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_record, "fcntl", None)


def test_savers_of_two_prefixes_leave_each_other_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_cleaner, "ABANDONED_AGE", -60.0)  # nothing is young
    for names in (("one", "other"), ("other", "one")):
        for calls in range(1, 30, 3):
            play = Play(
                {
                    "one": lambda layer: save(emptied(tmp_path), 2, layer),
                    "other": lambda layer: save_other(tmp_path, layer),
                }
                if names[0] == "one"
                else {
                    "other": lambda layer: save_other(emptied(tmp_path), layer),
                    "one": lambda layer: save(tmp_path, 2, layer),
                },
                [(names[0], calls), (names[1], None)],
            )
            assert play.refused() == []
            assert found(tmp_path) == 2
            assert read_checkpoint(tmp_path / "other").meta() == b"other"


def test_where_there_are_no_locks_and_the_age_lies_a_save_is_refused_and_nothing_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    monkeypatch.setattr(checkpoint_cleaner, "ABANDONED_AGE", -60.0)
    refused = 0
    tasks = contenders.PAIRS["two savers"].tasks(tmp_path)
    for calls, more in itertools.product(range(1, 30, 4), (3, 11, None)):
        save(emptied(tmp_path), 1)
        play = Play(tasks, [("one", calls), ("other", more)])
        reported = play.refused()
        refused += len(reported)
        causes = ("was killed", "cannot write", "was removed before the save was committed")
        assert all(any(cause in text for cause in causes) for text in reported)
        saved = {actor.result for actor in play.actors.values()} - {None}
        assert saved and found(tmp_path) in saved
    assert refused


def test_where_there_are_no_locks_a_young_save_is_spared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    tasks = contenders.PAIRS["two savers"].tasks(tmp_path)
    for calls in range(1, 30, 3):
        play = Play(tasks, [("one", calls), ("other", None)])
        assert play.refused() == [] and found(tmp_path) in (2, 3)
    with workload.hours_later(time.time() + 1):
        save(tmp_path, 9)
    assert strays(tmp_path) == []


def test_what_a_killed_save_left_goes_with_the_next_save_of_an_older_process(
    tmp_path: Path,
) -> None:
    class Dies(files.FileLayer):
        def rename(self, old: str, new: str) -> None:
            if new.endswith(".meta-" + f"{2:016x}"):
                os.kill(os.getpid(), signal.SIGKILL)
            super().rename(old, new)

    child = os.fork()
    if child == 0:
        save(tmp_path, 2, Dies())
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 4  # the record, two data files, half a graph file
    save(tmp_path, 3)
    assert found(tmp_path) == 3 and strays(tmp_path) == []


class Lies(files.FileLayer):
    """Tells an error of the commit."""

    def __init__(self, happens: bool, error: BaseException) -> None:
        self.happens, self.error = happens, error

    def rename(self, old: str, new: str) -> None:
        if not new.endswith(".index"):
            return super().rename(old, new)
        if self.happens:
            super().rename(old, new)
        raise self.error


def test_a_commit_that_happened_though_it_failed_is_a_save(tmp_path: Path) -> None:
    save(tmp_path, 1)
    save(tmp_path, 2, Lies(True, OSError(errno.EIO, "the answer was lost")))
    assert found(tmp_path) == 2 and strays(tmp_path) == []
    with pytest.raises(errors.UnavailableError, match="did not happen"):
        save(tmp_path, 3, Lies(False, OSError(errno.EIO, "did not happen")))
    assert found(tmp_path) == 2 and strays(tmp_path) == []


def test_an_interrupt_in_the_commit_loses_nothing(tmp_path: Path) -> None:
    for happens, expected in ((False, 1), (True, 3)):
        save(tmp_path, 1)
        with pytest.raises(KeyboardInterrupt):
            save(tmp_path, 3, Lies(happens, KeyboardInterrupt()))
        assert found(tmp_path) == expected
        assert not list(tmp_path.glob("tmp-*"))


def test_a_list_whose_temporary_file_was_removed_is_written_again(tmp_path: Path) -> None:
    from graphio.train.checkpoints.checkpoint_state import as_state, write_state

    class Swept(Recorder):
        def rename(self, old: str, new: str) -> None:
            if sum(done.kind == "create" for done in self.operations) == 1:
                self.remove(old)
            super().rename(old, new)

    layer = Swept()
    write_state(str(tmp_path), as_state(str(tmp_path / "m"), None, None, None), layer=layer)
    assert (tmp_path / "checkpoint").exists()
    assert [done.kind for done in layer.operations].count("create") == 2


def test_a_record_that_cannot_be_removed_holds_up_no_cleaning(tmp_path: Path) -> None:
    (tmp_path / "tmp-0123456789abcdef-m-7.index").mkdir()  # as one of another user's save would be
    for value in (1.0, 2.0, 3.0):
        write_checkpoint(tmp_path / "m-2", {"v": np.array([value])}, meta=b"graph")
    left = sorted(path.name for path in tmp_path.iterdir() if path.is_file())
    assert [name.split("-")[1].split(".", 1)[1] for name in left] == ["data", "index", "meta"]
    assert read_checkpoint(tmp_path / "m-2").variables["v"].tolist() == [3.0]


def test_a_save_of_an_id_that_is_taken_ends_no_other(tmp_path: Path) -> None:
    first = commit_record.CommitRecord(files.SYSTEM, f"{tmp_path}/m.index", "0" * 16)
    with pytest.raises(errors.UnavailableError):
        commit_record.CommitRecord(files.SYSTEM, f"{tmp_path}/m.index", "0" * 16)
    first.put(b"index")
    assert (tmp_path / "m.index").read_bytes() == b"index"
