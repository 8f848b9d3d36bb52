"""A restore that fails: it says of which checkpoint, what to do, and leaves nothing behind."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.schema import checkpoint

TARGETS = ["runtime", "cinfer"]
BOTH = pytest.mark.parametrize("target", TARGETS)

MANY = """
import resource, sys
import numpy as np
from graphio.schema import checkpoint
import graphio as tf
names = [f"v{i:03}" for i in range(200)]
checkpoint.write_checkpoint(sys.argv[1], {n: np.float32([i]) for i, n in enumerate(names)},
                            shard_bytes=1)
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
assert [float(checkpoint.read_checkpoint(sys.argv[1]).variables[n][0]) for n in names][-1] == 199
made = {n: tf.Variable([0.0], name=n) for n in names}
for verify in ("full", "lazy", "meta"):
    with tf.Session(sys.argv[2]) as session:
        tf.train.Saver(made).restore(session, sys.argv[1], verify=verify)
        assert [float(v[0]) for v in session.run(list(made.values()))] == list(range(200))
print(tf.train.verify(sys.argv[1]).files)
"""


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def session_of(target: str) -> tf.Session:
    if target == "cinfer":
        pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    return tf.Session(target)


def saved(folder: Path, /, step: int | None = None, **values: Any) -> str:
    """The prefix of a checkpoint."""
    with tf.Graph().as_default(), tf.Session() as session:
        for name, value in values.items():
            tf.Variable(value, name=name)
        session.run(tf.global_variables_initializer())
        return str(tf.train.Saver().save(session, str(folder / "m"), global_step=step))


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such limit")
@BOTH
def test_more_data_files_than_a_process_may_open_are_restored(target: str, tmp_path: Path) -> None:
    session_of(target)
    ran = subprocess.run(
        [sys.executable, "-c", MANY, str(tmp_path / "m"), target],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("201\n", "")


def shorter(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def other_start(path: Path) -> None:
    path.write_bytes(b"x" + path.read_bytes()[1:])


DAMAGES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "short data": ("*-2.data-*", shorter),
    "no data": ("*-2.data-*", Path.unlink),
    "another header": ("*-2.data-*", other_start),
    "flipped data": ("*-2.data-*", flipped),
    "short index": ("*-2.index", shorter),
    "flipped index": ("*-2.index", flipped),
    "another index": ("*-2.index", other_start),
    "flipped graph": ("*-2.meta", flipped),
}


@BOTH
@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_is_reported_with_the_checkpoint_and_the_one_before(
    damage: str, target: str, tmp_path: Path
) -> None:
    v, session = tf.Variable([1.0], name="v"), session_of(target)
    session.run(v.initializer)
    saver = tf.train.Saver()
    one, two = (saver.save(session, tmp_path / "m", global_step=step) for step in (1, 2))
    pattern, spoil = DAMAGES[damage]
    for path in tmp_path.glob(pattern):
        spoil(path)
    with pytest.raises(tf.errors.DataLossError) as error:
        saver.restore(session, two)
    text = str(error.value)
    assert f"checkpoint {two!r}" in text and text.count(repr(two)) <= 2, text
    assert re.search(rf"go on from {re.escape(repr(one))}.*restore_latest\(.*fall_back=True", text)
    if damage != "flipped graph":
        with pytest.raises(tf.errors.DataLossError, match=re.escape(repr(two))):
            tf.train.load_checkpoint(two).get_tensor("v")


def test_where_no_older_checkpoint_is_none_is_promised(tmp_path: Path) -> None:
    prefix = saved(tmp_path, v=[1.0])
    (data,) = tmp_path.glob("*.safetensors")
    shorter(data)
    tf.Variable([0.0], name="v")
    with pytest.raises(
        tf.errors.DataLossError, match="no other checkpoint is listed in its folder"
    ):
        tf.train.Saver().restore(tf.Session(), prefix)


def test_damage_that_the_first_use_finds_is_reported_with_the_checkpoint(tmp_path: Path) -> None:
    prefix = saved(tmp_path, v=[1.0])
    (data,) = tmp_path.glob("*.safetensors")
    v, session = tf.Variable([0.0], name="v"), tf.Session()
    flipped(data)
    tf.train.Saver().restore(session, prefix, verify="lazy")
    with pytest.raises(tf.errors.DataLossError, match=re.escape(f"'v' in checkpoint {prefix!r}")):
        session.run(v)


class Refusing:
    """An object that takes no state."""

    def __init__(self) -> None:
        self.states: list[bytes] = []

    def get_state(self) -> bytes:
        return b"mine"

    def set_state(self, state: bytes) -> None:
        self.states.append(state)
        if state != b"mine":
            raise RuntimeError("not that one")


@BOTH
@pytest.mark.parametrize("verify", ["full", "lazy"])
def test_a_restore_that_fails_declares_no_variable(
    verify: str, target: str, tmp_path: Path
) -> None:
    prefix = saved(tmp_path, v=[1.0], w=[2.0])
    (data,) = tmp_path.glob("*.safetensors")
    whole = data.read_bytes()
    tf.Variable([0.0], name="v")
    tf.Variable([0.0], name="w")
    session = session_of(target)
    names, generators = session.state.names(), session.state.generators()
    shorter(data)
    with pytest.raises(tf.errors.DataLossError):
        tf.train.Saver().restore(session, prefix, verify=verify)
    data.write_bytes(whole)
    flipped(data)
    if verify == "full":  # else the check comes with the first use
        with pytest.raises(tf.errors.DataLossError):
            tf.train.Saver().restore(session, prefix, verify=verify)
    data.write_bytes(whole)
    assert session.state.names() == names and session.state.generators() == generators


@BOTH
def test_an_object_that_refuses_its_state_leaves_nothing(target: str, tmp_path: Path) -> None:
    v, session = tf.Variable([1.0], name="v"), session_of(target)
    session.run(v.initializer)
    mine = Refusing()
    prefix = tf.train.Saver(objects={"mine": mine}).save(session, tmp_path / "m", blobs=None)
    fresh, other = session_of(target), Refusing()
    other.get_state = lambda: b"before"  # type: ignore[method-assign]
    other.set_state = lambda state: 1 // (state == b"before")  # type: ignore[method-assign]
    with pytest.raises(ZeroDivisionError):
        tf.train.Saver(objects={"mine": other}).restore(fresh, prefix)
    assert fresh.state.names() == []


@BOTH
def test_an_assignment_that_fails_takes_its_declarations_back(target: str) -> None:
    state = session_of(target).state
    state.declare("there", 1, [1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="there"):
        state.assign({}, {"draw": (1, 2)}, declared={"new": (1, [1]), "there": (1, [2])})
    with pytest.raises(tf.errors.InvalidArgumentError):
        state.assign({"new": np.float64([1])}, {"draw": (1, 2)}, declared={"new": (1, [1])})
    assert state.names() == ["there"] and state.generators() == {}
    state.assign({"new": np.float32([1])}, {"draw": (1, 2)}, declared={"new": (1, [1])})
    assert state.get("new").tolist() == [1] and state.generators() == {"draw": (1, 2)}


def test_a_checkpoint_of_many_files_holds_few_of_them(tmp_path: Path) -> None:
    values = {f"v{i:02}": np.float32([i]) for i in range(checkpoint.HELD + 3)}
    checkpoint.write_checkpoint(tmp_path / "m", values, shard_bytes=1)
    found = checkpoint.read_checkpoint(tmp_path / "m", lazy=True)
    assert [found.variables[name].tolist() for name in values] == [[i] for i in range(len(values))]
    last = sorted(tmp_path.glob("*.safetensors"))[-1]
    found = checkpoint.read_checkpoint(tmp_path / "m", lazy=True)
    flipped(last)
    with pytest.raises(tf.errors.DataLossError, match="checksum"):
        found.variables[max(values)]
