"""Every flipped bit and every truncation of a file is an error, in Python and in C."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
import graphio.cinfer
import graphio.runtime
from graphio.schema import errors

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "digits"))

ENGINES = {"runtime": graphio.runtime, "cinfer": graphio.cinfer}
BOTH = pytest.mark.parametrize("engine", ENGINES)
DAMAGED = (errors.DataLossError, errors.InvalidArgumentError, errors.UnimplementedError)
POSITIONS = 10_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of about 4 KB and its checkpoint."""
    folder = tmp_path_factory.mktemp("files")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [None, 8], name="x")
        w = tf.Variable(np.linspace(-1, 1, 64).reshape(8, 8).astype(np.float32), name="w")
        y = tf.nn.dropout(tf.matmul(x, w), rate=0.5)
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y))
        session.run(tf.global_variables_initializer())
        session.run(train, {x: np.ones((2, 8))})
        tf.train.Saver().save(session, str(folder / "c"))
        signatures = {"predict": ({"x": x}, {"y": y}), "train": ({"x": x}, {"y": y}, [train])}
        tf.saved_model.save(str(folder / "m.gio"), session, signatures)
    return folder


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the demo, untrained."""
    from model import build
    from train import signatures

    folder = tmp_path_factory.mktemp("digits")
    network = build()
    with tf.Session(graph=network.graph) as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(folder / "c"))
        tf.saved_model.save(str(folder / "m.gio"), session, signatures(network))
    return folder


def flips(data: bytes, positions: Iterator[int]) -> Iterator[bytes]:
    """data with one bit changed, at each position (in bits)."""
    damaged = bytearray(data)
    for position in positions:
        damaged[position // 8] ^= 1 << position % 8
        yield bytes(damaged)
        damaged[position // 8] ^= 1 << position % 8


def refused(load: Callable[[], Any], what: str) -> None:
    try:
        load()
    except DAMAGED as error:
        assert len(error.message) > 20, what
    else:
        pytest.fail(f"{what} was taken")


@BOTH
def test_every_flipped_bit_of_a_model_is_refused(engine: str, files: Path) -> None:
    data = (files / "m.gio").read_bytes()
    load = ENGINES[engine].load
    load(data)
    for i, damaged in enumerate(flips(data, iter(range(8 * len(data))))):
        refused(lambda d=damaged: load(d), f"bit {i}")


@BOTH
def test_every_truncation_and_trailing_bytes_of_a_model_are_refused(
    engine: str, files: Path
) -> None:
    data = (files / "m.gio").read_bytes()
    load = ENGINES[engine].load
    for length in range(len(data)):
        refused(lambda n=length: load(data[:n]), f"{length} bytes")
    for extra in range(1, 65):
        refused(lambda n=extra: load(data + bytes(n)), f"{extra} more bytes")


@BOTH
def test_flips_at_random_positions_of_the_demos_model_are_refused(
    engine: str, digits: Path
) -> None:
    data = (digits / "m.gio").read_bytes()
    graph_end = 64 + int.from_bytes(data[16:24], "little")
    positions = [*range(8 * 64), *random.Random(0).sample(range(8 * len(data)), POSITIONS)]
    assert graph_end < len(data)
    load = ENGINES[engine].load
    for position, damaged in zip(positions, flips(data, iter(positions)), strict=True):
        refused(lambda d=damaged: load(d), f"bit {position}")


def checkpoint_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.name.startswith("c."))


#: the bytes of each file that are looked at bit by bit: envelope, header, JSON's length
HEADERS = {".index": 32, ".meta": 64, ".safetensors": 16}


def chosen_bits(folder: Path, small: bool) -> Iterator[tuple[Path, int]]:
    """Every bit of a small index and of all headers, and positions at random in all files."""
    files = checkpoint_files(folder)
    for path in files:
        every = path.suffix == ".index" and small
        yield from ((path, i) for i in range(8 * (len_of(path) if every else HEADERS[path.suffix])))
    sizes = [8 * len_of(path) for path in files]
    for position in random.Random(1).sample(range(sum(sizes)), 1000 if small else POSITIONS):
        for path, size in zip(files, sizes, strict=True):
            if position < size:
                yield path, position
                break
            position -= size


def len_of(path: Path) -> int:
    return path.stat().st_size


def flip(path: Path, position: int) -> None:
    with open(path, "r+b") as file:
        file.seek(position // 8)
        byte = file.read(1)[0] ^ 1 << position % 8
        file.seek(position // 8)
        file.write(bytes([byte]))


@BOTH
@pytest.mark.parametrize("how", ["small", "demo"])
def test_flips_and_truncations_of_a_checkpoint_are_refused(
    engine: str, how: str, files: Path, digits: Path
) -> None:
    """Nothing is assigned when a restore fails."""
    folder = files if how == "small" else digits
    model = ENGINES[engine].load(str(folder / "m.gio"))
    prefix = str(folder / "c")
    model.state.restore(prefix)
    names = model.state.names()
    for name in names:
        model.state.set(name, model.state.get(name) * 0)
    for path, position in chosen_bits(folder, how == "small"):
        flip(path, position)
        try:
            refused(lambda: model.state.restore(prefix), f"{path.name}, bit {position}")
        finally:
            flip(path, position)
    for path in checkpoint_files(folder):
        data = path.read_bytes()
        short = how == "small" and path.suffix == ".index"
        lengths = range(len(data)) if short else {0, 1, 8, len(data) // 2, len(data) - 1}
        try:
            for length in lengths:
                path.write_bytes(data[:length])
                refused(lambda: model.state.restore(prefix), f"{path.name}, {length} bytes")
            path.write_bytes(data + b"\0")
            refused(lambda: model.state.restore(prefix), f"{path.name}, one byte more")
        finally:
            path.write_bytes(data)
    assert all(not np.any(model.state.get(name)) for name in names)
    model.state.restore(prefix)
    assert any(np.any(model.state.get(name)) for name in names)


@BOTH
def test_a_missing_file_says_so(engine: str, tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match="nowhere"):
        ENGINES[engine].load(str(tmp_path / "nowhere.gio"))
    os.makedirs(tmp_path / "folder.gio")
    with pytest.raises(errors.OpError, match=r"folder\.gio"):
        ENGINES[engine].load(str(tmp_path / "folder.gio"))
