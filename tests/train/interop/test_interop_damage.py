"""Files of other frameworks with flipped bits, cut off, or changed at random."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from foreign_files import EDITS, FOREIGN, everything, mutated, nothing_runs, unprotected
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from proofs import foreign

import graphio as tf
from graphio.support import errors

#: files of which every protected bit is flipped; of the others, one bit of each byte
WHOLE = ("tf_sharded.index", "tf_sharded.data-00000-of-00002", "torch_tiny.pt")
OTHERS = ("tf_saver.index", "tf_saver.data-00000-of-00001", "tf_objects.data-00000-of-00001")


@pytest.mark.parametrize("file", (*WHOLE, *OTHERS))
def test_a_flipped_bit_is_refused_or_changes_no_value(file: str, tmp_path: Path) -> None:
    data = (FOREIGN / file).read_bytes()
    free = unprotected(file, data)

    def chosen(data: bytes) -> Iterator[tuple[int, bytes]]:
        for bit, (at, changed) in enumerate(foreign.flipped(data)):
            if bit % 8 == at % 8 or (file in WHOLE and at not in free):
                yield at, changed

    result = foreign.damage(tmp_path, file, chosen)
    assert not result.lost
    assert result.counts["refused"] >= len(data) - len(free) > 0


@pytest.mark.parametrize("file", foreign.FILES)
def test_a_file_cut_off_anywhere_is_refused(file: str, tmp_path: Path) -> None:
    step = 1 if len((FOREIGN / file).read_bytes()) < 600 else 17

    def chosen(data: bytes) -> Iterator[tuple[int, bytes]]:
        yield from list(foreign.cut(data))[::step]
        yield -1, data + b"\0"

    result = foreign.damage(tmp_path, file, chosen)
    assert not result.lost and result.counts["refused"] == result.counts["files"] > 1


# ---- changed at random ----


SEEDS = (
    *("torch_tiny.pt", "torch_state.pt", "tf_saver", "tf_objects"),
    *("m.npz", "one.npy", "plain.safetensors", "h.index.json"),
)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind."""
    folder = tmp_path_factory.mktemp("seeds")
    shutil.copytree(FOREIGN, folder, dirs_exist_ok=True)
    np.savez_compressed(folder / "m.npz", a=np.arange(4.0), t=np.array(["x", "yz"]))
    np.save(folder / "one.npy", np.arange(6, dtype=">i2").reshape(2, 3).T)
    for name in ("plain.safetensors", "h.index.safetensors"):
        tf.train.export_variables({"a": np.arange(3.0), "b": np.float32(1)}, folder / name)
    index = {"weight_map": dict.fromkeys("ab", "h.index.safetensors")}
    (folder / "h.index.json").write_text(json.dumps(index))
    return folder


@pytest.mark.parametrize("seed", SEEDS)
@settings(
    max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(edits=EDITS, target=st.integers(0, 1))
def test_a_mutated_file_is_read_or_refused_with_our_errors(
    seed: str, edits: list[tuple[str, float, bytes]], target: int, seeds: Path, tmp_path: Path
) -> None:
    stem = Path(seed).stem
    assert everything(seeds / seed)
    files = sorted(p for p in seeds.glob(f"{stem}.*") if "expected" not in p.name)
    for i, file in enumerate(files):
        data = file.read_bytes()
        hit = i == target % len(files)
        (tmp_path / file.name).write_bytes(mutated(data, edits) if hit else data)
    with nothing_runs(tmp_path), contextlib.suppress(errors.OpError):
        everything(tmp_path / seed)
