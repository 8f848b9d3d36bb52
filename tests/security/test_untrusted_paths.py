"""S15: whatever a file names, nothing outside its folder is opened, in Python and in C."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import folders
import path_attacks
import pytest
from path_attacks import KINDS, attacked, planted
from proofs import shim
from proofs.building import built

import graphio as tf

SECRET = Path("out", "secret")  # next to the model's folder: the trap, which the test itself makes


def refused(kind: str, outcomes: list[tuple[str, str]]) -> bool:
    """Whether all names are refused, but for a second name of a file in the folder and for none."""
    taken = {name for name, error in outcomes if not error}
    return taken <= {"hard"} | ({""} if kind == "other_graphs" else set())


# ---- files that Python opens ----

_OPENED: list[tuple[str, int]] = []
_WATCHED = [False]


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _WATCHED[0] and isinstance(arguments[0], (str, bytes)):
        _OPENED.append((os.fsdecode(arguments[0]), arguments[2] or 0))


sys.addaudithook(_audit)


@contextlib.contextmanager
def watched() -> Iterator[set[Path]]:
    """The files that Python opens inside, by what they are; a link not followed is itself."""
    _OPENED.clear()
    _WATCHED[0] = True
    found: set[Path] = set()
    try:
        yield found
    finally:
        _WATCHED[0] = False
    for path, flags in _OPENED:
        folder, name = os.path.split(path)
        followed = not flags & os.O_NOFOLLOW
        found.add(
            Path(os.path.realpath(path) if followed else f"{os.path.realpath(folder)}/{name}")
        )


@pytest.mark.parametrize("kind", [k for k in KINDS if not k.endswith("_in_c")])
def test_python_opens_nothing_outside(kind: str, tmp_path: Path) -> None:
    for again in "warm", "watched":
        folder = tmp_path / again / "model"
        folder.parent.mkdir()
        with watched() as opened:
            outcomes = list(attacked(kind, folder))
    assert refused(kind, outcomes) and len(outcomes) >= 30
    outside = {path for path in opened if not path.is_relative_to(folder)}
    # The path given to load_checkpoint may be a folder, or the prefix of a checkpoint.
    assert outside <= {folder.parent / SECRET, folder.with_suffix(".index")}


def test_the_watch_sees_a_link_that_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "good").touch()
    planted(folder, tmp_path / "good")
    with watched() as opened:
        (folder / "link").read_bytes()
    assert tmp_path / SECRET in opened


# ---- files that the system opened for Python and C ----


@pytest.mark.skipif(shim.why_not() is not None, reason=str(shim.why_not()))
def test_no_call_of_the_system_opens_anything_outside(tmp_path: Path) -> None:
    source = Path(__file__).with_name("open_recorder.c")
    recorder = built("open_recorder.so", [source], ["-shared", "-fPIC", "-O1", "-ldl"])
    record, work = tmp_path / "record", tmp_path / "work"
    done = subprocess.run(
        [sys.executable, path_attacks.__file__, str(work)],
        env=folders.environment(LD_PRELOAD=str(recorder), OPEN_RECORD=str(record)),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert outcomes.keys() == KINDS.keys()
    assert all(refused(kind, found) for kind, found in outcomes.items())
    lines = record.read_text(errors="replace").split("\n")
    for kind in KINDS:
        case_folder = work / kind / "watched"
        after = lines[lines.index(str(case_folder)) + 1 :]
        end = next((i for i, line in enumerate(after) if line.endswith("/warm")), len(after))
        opened = {Path(line) for line in after[:end] if line}
        inside = {path for path in opened if path.is_relative_to(case_folder / "model")}
        assert inside and opened - inside <= {case_folder / SECRET}


# ---- Hugging Face's cache is made of links ----


def test_a_snapshot_of_hugging_faces_cache_is_read_through_its_links(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "m" / "blobs", tmp_path / "m" / "snapshots" / "abc"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    tf.train.export_variables({"w": [1.0, 2.0]}, blobs / "123.safetensors")
    shutil.move(blobs / "123.safetensors", blobs / "123")
    (snapshot / "model-1.safetensors").symlink_to("../../blobs/123")
    (snapshot / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"w": "model-1.safetensors"}})
    )
    assert tf.train.load_checkpoint(snapshot).get_tensor("w").tolist() == [1.0, 2.0]
    shutil.move(blobs, tmp_path / "blobs")
    (snapshot / "model-1.safetensors").unlink()
    (snapshot / "model-1.safetensors").symlink_to("../../../blobs/123")
    with pytest.raises(tf.errors.InvalidArgumentError, match="leads out of its folder"):
        tf.train.load_checkpoint(snapshot / "model.safetensors.index.json")
