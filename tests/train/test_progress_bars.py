"""Progress of long saves, restores and imports: the reports, and when there are none."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphio as tf
from graphio.onnx import convert, from_model, import_model
from graphio.schema.checkpoint import read_checkpoint, write_checkpoint
from graphio.support import progress, progress_bars


class Recorder:
    """A factory of progress bars that records their reports."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, int, str]] = []
        self.done: list[int] = []
        self.open = 0

    def __call__(self, what: str, total: int, unit: str) -> Any:
        self.shown.append((what, total, unit))
        self.done.append(0)
        self.open += 1
        return self

    def update(self, amount: int) -> None:
        self.done[-1] += amount

    def close(self) -> None:
        self.open -= 1


def variables() -> dict[str, np.ndarray]:
    """Small ones, which are read together, large ones, one without elements, and strings."""
    made: dict[str, Any] = {f"small{i}": np.arange(i, dtype=np.float32) for i in range(50)}
    made["large"] = np.arange(3 << 20, dtype=np.int64)
    made["texts"] = np.array([b"a", b"bc" * 999], object)
    return made


def test_a_save_and_a_restore_tell_of_every_byte(tmp_path: Path) -> None:
    prefix, recorder = str(tmp_path / "saved"), Recorder()
    with progress.shown_by(recorder):
        write_checkpoint(prefix, variables(), shard_bytes=1 << 22)
        found = read_checkpoint(prefix, lazy=True)
        found.read()
        found.verify()
    total = sum(row.nbytes for row in found.index.variable)
    assert total > 3 << 23 and len(found.index.shard) > 1
    reported = [("write saved", total, "B"), ("read saved", total, "B"), ("read saved", total, "B")]
    assert recorder.shown == reported and recorder.done == [total] * 3 and recorder.open == 0
    np.testing.assert_array_equal(found.variables["large"], variables()["large"])


def test_a_saver_shows_its_work_in_this_thread_only(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(np.ones(1000, np.float32))
        session.run(v.initializer)
        plain, background = tf.train.Saver(), tf.train.Saver(asynchronous=True)
        recorder = Recorder()
        with progress.shown_by(recorder):
            path = plain.save(session, str(tmp_path / "a"))
            plain.restore(session, path)
            background.save(session, str(tmp_path / "b"))
            background.finish()
        plain.save(session, str(tmp_path / "c"))
    assert [what for what, _, _ in recorder.shown] == ["write a", "read a"]
    assert recorder.done == [4000, 4000]


def test_a_progress_bar_is_closed_where_the_work_fails(tmp_path: Path) -> None:
    prefix, recorder = str(tmp_path / "saved"), Recorder()
    write_checkpoint(prefix, variables())
    (data,) = tmp_path.glob("*.safetensors")
    content = bytearray(data.read_bytes())
    content[-1] ^= 1
    data.write_bytes(content)
    with progress.shown_by(recorder), pytest.raises(tf.errors.DataLossError):
        read_checkpoint(prefix).read()
    assert len(recorder.shown) == 1 and recorder.open == 0


def test_an_import_tells_of_its_nodes_and_not_of_those_inside() -> None:
    body = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["inner"])],
        "body",
        [],
        [helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("Exp", ["x"], ["y"]),
        helper.make_node("If", ["b"], ["z"], then_branch=body, else_branch=body),
        helper.make_node("Add", ["y", "z"], ["out"]),
    ]
    of = helper.make_tensor_value_info
    inputs = [of("x", TensorProto.FLOAT, [2]), of("b", TensorProto.BOOL, [])]
    graph = helper.make_graph(nodes, "g", inputs, [of("out", TensorProto.FLOAT, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    onnx.checker.check_model(model)
    recorder = Recorder()
    with progress.shown_by(recorder), tf.Graph().as_default():
        import_model(model)
    assert recorder.shown == [("import ONNX nodes", 3, "node")] and recorder.done == [3]
    data = convert(model)
    with progress.shown_by(recorder):
        from_model(data)
    assert recorder.shown[1:] == [("export ONNX nodes", 3, "node")] and recorder.done == [3, 3]


def test_what_happens_inside_of_work_has_no_progress_bar_of_its_own() -> None:
    recorder = Recorder()
    with progress.shown_by(recorder):
        with progress.task("outer", 2, "B") as reported:
            with progress.task("inner", 5, "B") as inner:
                inner(5)
            reported(2)
        with progress.task("next", 1, "B"):
            pass
    assert recorder.shown == [("outer", 2, "B"), ("next", 1, "B")] and recorder.done == [2, 0]


@pytest.mark.parametrize("terminal, slow", [(True, True), (True, False), (False, True)])
def test_progress_bars_are_of_slow_work_on_a_terminal(
    terminal: bool, slow: bool, monkeypatch: Any
) -> None:
    pytest.importorskip("tqdm")
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", screen)
    if slow:
        monkeypatch.setattr(progress_bars, "_DELAY", 0.0)
    with tf.train.progress_bars(), progress.task("read model", 1 << 20, "B") as reported:
        reported(1 << 19)
    assert ("read model" in screen.getvalue()) == (terminal and slow)


def test_without_tqdm_what_to_install_is_reported(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with (
        tf.train.progress_bars(),
        pytest.raises(ImportError, match=r"pip install .*'\.\[progress\]'"),
        progress.task("work", 1, "B"),
    ):
        pass
