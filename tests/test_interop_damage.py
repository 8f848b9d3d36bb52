"""Files of other frameworks with flipped bits, cut off, or changed at random."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from foreign_files import EDITS, FOREIGN, everything, mutated, nothing_runs, unprotected
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphio as tf
from graphio.schema import errors

#: file of a golden checkpoint: what is opened, the bits of a byte that are flipped, and which
#: bytes its format does not protect
FLIPPED = {
    "tf_sharded.index": ("tf_sharded", 8),
    "tf_sharded.data-00000-of-00002": ("tf_sharded", 8),
    "tf_saver.index": ("tf_saver", 1),
    "tf_saver.data-00000-of-00001": ("tf_saver", 1),
    "tf_objects.data-00000-of-00001": ("tf_objects", 1),
    "torch_tiny.pt": ("torch_tiny.pt", 8),
}


@pytest.mark.parametrize("file", FLIPPED)
def test_a_flipped_bit_is_refused_or_changes_no_value(file: str, tmp_path: Path) -> None:
    opened, bits = FLIPPED[file]
    for part in FOREIGN.glob(f"{Path(opened).stem}.*"):
        shutil.copy(part, tmp_path)
    path, data = tmp_path / file, (FOREIGN / file).read_bytes()
    truth, free = everything(tmp_path / opened), unprotected(file, data)
    refused = 0
    for at in range(len(data)):
        for bit in range(bits) if at not in free else [at % 8]:
            flipped = bytearray(data)
            flipped[at] ^= 1 << (bit if bits == 8 else at % 8)
            path.write_bytes(flipped)
            try:
                found = everything(tmp_path / opened)
            except errors.OpError:
                refused += 1
                continue
            assert found == truth, f"byte {at}, bit {bit} changed a value"
            assert at in free, f"byte {at}, bit {bit} was not noticed"
    assert refused >= (len(data) - len(free)) * bits > 0


@pytest.mark.parametrize("file", [*FLIPPED, "torch_training.pt", "tf_objects.index"])
def test_a_file_cut_off_anywhere_is_refused(file: str, tmp_path: Path) -> None:
    opened = file if file.endswith(".pt") else file.split(".")[0]
    for part in FOREIGN.glob(f"{Path(opened).stem}.*"):
        shutil.copy(part, tmp_path)
    data = (FOREIGN / file).read_bytes()
    step = 1 if len(data) < 600 else 7
    for length in range(0, len(data), step):
        (tmp_path / file).write_bytes(data[:length])
        with pytest.raises(errors.OpError):
            everything(tmp_path / opened)
    (tmp_path / file).write_bytes(data + b"\0")
    with pytest.raises(errors.OpError):
        everything(tmp_path / opened)


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
