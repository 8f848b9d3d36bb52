"""Names of checkpoints, and how the file `checkpoint` writes and reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import engines
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphio as tf
from graphio.schema import checkpoint
from graphio.support import errors
from graphio.train.checkpoints import checkpoint_text

NAMES = ["loss=0.3", "my model", "é", "模型", "a+b@c#1%d&e!", "[x]", "{a}", "it's", "~m", "(1),2;3"]
if os.name != "nt":
    NAMES += ["a:b", "*star?", "<|>"]


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def session_of(target: str) -> tf.Session:
    if target == "cinfer":
        engines.module(target)
    return tf.Session(target)


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_a_file_may_have_is_a_checkpoints(
    name: str, target: str, tmp_path: Path
) -> None:
    v, session = tf.Variable([1.0], name="v"), session_of(target)
    session.run(v.initializer)
    saver = tf.train.Saver(max_to_keep=2)
    for step in (1, 2, 3):
        prefix = saver.save(session, tmp_path / name, global_step=step)
    assert prefix == str(tmp_path / f"{name}-3")
    assert tf.train.latest_checkpoint(tmp_path) == prefix
    assert sorted(path.stem for path in tmp_path.glob("*.index")) == [f"{name}-2", f"{name}-3"]
    other = session_of(target)
    tf.train.Saver().restore(other, str(prefix))
    assert other.run(v).tolist() == [1.0] and tf.train.verify(prefix).variables == 1


@pytest.mark.parametrize("name", NAMES)
def test_the_engines_read_each_others_names(name: str, tmp_path: Path) -> None:
    one, two = (engines.module(engine).new_state() for engine in engines.NAMES)
    for state, other, value in ((one, two, 1.0), (two, one, 2.0)):
        state.declare("v", 1, [1])
        state.set("v", np.float32([value]))
        state.save(str(tmp_path / name))
        other.restore(str(tmp_path / name))
        assert other.get("v").tolist() == [value]


@pytest.mark.parametrize("engine", engines.NAMES)
@pytest.mark.parametrize(
    "name", [".m", "a\\b", 'a"b', "a\nb", "a\x7fb", "n" * 256, "tmp-" + "0" * 16 + "-m"]
)
def test_a_name_that_would_need_escapes_is_refused(engine: str, name: str, tmp_path: Path) -> None:
    state = engines.module(engine).new_state()
    with pytest.raises(errors.InvalidArgumentError):
        state.save(str(tmp_path / name))
    assert list(tmp_path.iterdir()) == []


# ---- the file `checkpoint` ----

# strings that TensorFlow 2.21 wrote for the paths on the right
WRITTEN = {
    r'"/r/q\"\'x-1"': "/r/q\"'x-1",
    r'"/r/new\nline-1"': "/r/new\nline-1",
    r'"/r/tab\t-1"': "/r/tab\t-1",
    r'"/r/\001c-1"': "/r/\x01c-1",
    r'"/r/back\\slash-1"': "/r/back\\slash-1",
    '"/r/é-1"': "/r/é-1",
    r'"/r/\303\251-1"': "/r/é-1",
    r'"/r/\xc3\xA9-1"': "/r/é-1",
    r"'/r/single\'s \"-1'": "/r/single's \"-1",
    "'/r/it is \"so\"-1'": '/r/it is "so"-1',
}


@pytest.mark.parametrize("text", WRITTEN)
def test_escapes_and_quotes_of_text_protobuf_are_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text(
        f"model_checkpoint_path: {text}\nall_model_checkpoint_paths: {text}\n", encoding="utf-8"
    )
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state is not None
    assert state.model_checkpoint_path == WRITTEN[text]
    assert state.all_model_checkpoint_paths == [WRITTEN[text]]


@given(st.text().filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text)))
def test_every_path_survives_the_file(path: str) -> None:
    state = checkpoint_text.CheckpointState(path, [path, "m"], [1.5, 2.0], 3.0, [path])
    assert checkpoint_text.parsed(checkpoint_text.sealed(state)) == state


def test_a_path_that_is_no_utf_8_survives_the_file() -> None:
    state = checkpoint_text.CheckpointState("/r\udcff/m")
    assert b"\\377" in checkpoint_text.sealed(state)
    assert checkpoint_text.parsed(checkpoint_text.sealed(state)) == state


def test_a_name_leads_nowhere_else(tmp_path: Path) -> None:
    checkpoint.write_checkpoint(tmp_path / "m", {"v": np.zeros(1)})
    index = checkpoint.read_index(tmp_path / "m")
    for name in ("../x", "a/b", "a\\b", "..", ".", ".x", "", "a\0b"):
        index.shard[0].file = name
        with pytest.raises(errors.DataLossError, match="not a plain file name|sorted"):
            checkpoint.checkpoint_index.check(index)
