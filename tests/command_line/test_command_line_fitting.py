"""The command graphio refuses options that do nothing, and to write over what it reads."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from command_line import Command, small_onnx, trained

import graphio as tf
from graphio.command_line import conversions, exits, opening
from graphio.storage import stores
from graphio.support import errors


@pytest.fixture
def graphio(capfd: pytest.CaptureFixture[str]) -> Command:
    return Command(capfd)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source of each kind."""
    folder = trained(tmp_path_factory.mktemp("made"))
    small_onnx(folder / "net.onnx")
    np.savez(folder / "net.npz", w=np.float32([1, 2]))
    (folder / "names.json").write_text(json.dumps({"w": "v"}))
    return folder


@pytest.fixture
def files(made: Path, tmp_path: Path) -> Path:
    """Copies of them, to be changed."""
    return Path(shutil.copytree(made, tmp_path / "files"))


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


# ---- convert ----

SOURCES = {
    opening.MODEL: "net.gio",
    opening.ONNX: "net.onnx",
    opening.CHECKPOINT: "net-2",
    opening.WEIGHTS: "net.npz",
}
TARGETS = {".gio": "to.gio", ".onnx": "to.onnx", "weights": "to.npz"}
OPTIONS: dict[str, tuple[str, ...]] = {
    "signature": ("-s", "predict"),
    "inputs": ("--input", "x"),
    "outputs": ("--output", "p=predicted"),
    "optimize": ("--optimize", "none"),
    "freeze": ("--freeze",),
    "weights": ("--weights", "float16"),
    "strip": ("--strip",),
    "opset": ("--opset", "25"),
    "names": ("--names", "NAMES"),
}


def test_the_table_has_every_option_of_convert() -> None:
    assert set(OPTIONS) == set(conversions.FITS)


@pytest.mark.parametrize(
    "kind, becomes",
    [
        pair
        for pair in itertools.product(SOURCES, TARGETS)
        if pair[0] != opening.WEIGHTS or pair[1] == "weights"
    ],
)
def test_all_options_that_do_nothing_are_refused_at_once(
    graphio: Command, files: Path, kind: str, becomes: str
) -> None:
    fits = {
        name
        for name, fit in conversions.FITS.items()
        if kind in fit.sources and becomes in fit.targets
    }
    names = str(files / "names.json")
    words = {name: [names if w == "NAMES" else w for w in text] for name, text in OPTIONS.items()}
    arguments = ["convert", files / SOURCES[kind], files / TARGETS[becomes]]
    before = contents(files)
    reported = graphio(*arguments, *itertools.chain(*words.values()), code=exits.USAGE).err
    written = {name: {"-s": "--signature"}.get(text[0], text[0]) for name, text in words.items()}
    lines = {line.split(":")[0].strip() for line in reported.splitlines() if line.startswith("  ")}
    assert lines == {written[name] for name in set(words) - fits}
    assert contents(files) == before
    if kind != opening.ONNX:  # whose inputs and signature have other names
        graphio(*arguments, *itertools.chain(*(words[name] for name in fits)))


@pytest.mark.parametrize("source", ["net.gio", "net-2"])
@pytest.mark.parametrize("name", ["optimize", "freeze", "weights", "strip", "opset"])
def test_options_that_fit_do_something(
    graphio: Command, tmp_path: Path, source: str, name: str
) -> None:
    """In a model that has what they are for: variables, large weights, something to rewrite."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        x = tf.placeholder(tf.float32, [None, 20], name="x")
        w = tf.get_variable("w", initializer=np.ones((20, 30), np.float32))
        c = tf.constant(np.random.RandomState(0).randn(30, 20).astype(np.float32))
        y = tf.nn.relu(tf.identity(tf.matmul(tf.matmul(x, w), c)) + 0.0, name="y")
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, tmp_path / "net-2")
        tf.saved_model.save(
            str(tmp_path / "net.gio"), session, {"predict": ({"x": x}, {"y": y})}, optimize="none"
        )
    target = "to.onnx" if name == "opset" else "to.gio"
    ends = ["--input", "x", "--output", "y"] if source == "net-2" else []
    plain, other = tmp_path / f"plain-{target}", tmp_path / target
    graphio("convert", tmp_path / source, plain, *ends)
    more = ["--optimize", "approximate"] if source == "net.gio" else ["--optimize", "none"]
    graphio("convert", tmp_path / source, other, *ends, *(OPTIONS | {"optimize": more})[name])
    assert plain.read_bytes() != other.read_bytes()


def test_values_that_cannot_be_are_listed_together(graphio: Command, files: Path) -> None:
    wrong = ["--optimize", "much", "--weights", "int3", "--opset", "99"]
    reported = graphio("convert", files / "net.gio", files / "x.onnx", *wrong, code=exits.USAGE).err
    assert all(text in reported for text in ("'much'", "'int3'", "is 99"))


def test_an_onnx_file_holds_one_signature(graphio: Command, files: Path) -> None:
    two = ["-s", "predict", "-s", "train"]
    reported = graphio("convert", files / "net.gio", files / "x.onnx", *two, code=exits.USAGE).err
    assert "-s is given 2 times" in reported and not (files / "x.onnx").exists()


def symbolic(path: Path) -> Path:
    link = path.parent / f"soft{path.suffix}"
    link.symlink_to(path)
    return link


def hard(path: Path) -> Path:
    os.link(path, path.parent / f"hard{path.suffix}")
    return path.parent / f"hard{path.suffix}"


def roundabout(path: Path) -> Path:
    return path.parent / ".." / path.parent.name / path.name


@pytest.mark.parametrize("other", [lambda path: path, symbolic, hard, roundabout])
@pytest.mark.parametrize("name", ["net.gio", "net.onnx", "net.npz"])
def test_the_source_is_not_written_over(
    graphio: Command, files: Path, name: str, other: Callable[[Path], Path]
) -> None:
    target = other(files / name)
    before = contents(files)
    reported = graphio("convert", files / name, target, code=exits.USAGE).err
    assert "is what is read" in reported and "--force" in reported
    assert contents(files) == before
    graphio("convert", files / name, target, "--force")


@pytest.mark.parametrize("source", ["net-2", "net-2.index", "."])
def test_a_checkpoint_that_is_the_source_is_not_written_over(
    graphio: Command, files: Path, source: str
) -> None:
    before = contents(files)
    data = next(files.glob("net-2.data-*"))
    for target in (files / "net-2", files / ".." / "files" / "net-2", data):
        reported = graphio("convert", files / source, target, code=exits.USAGE).err
        assert "is what is read" in reported
    assert contents(files) == before
    graphio("convert", files / source, files / "net-2", "--force")
    assert tf.train.verify(files / "net-2").variables == 3
    for _ in range(2):  # files of the first run are not part of the source
        graphio("convert", files / source, files / "net-2.npz")


def test_a_file_of_a_folder_of_weights_is_not_written_over(
    graphio: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    tf.train.export_variables({"w": np.ones(3, np.float32)}, folder / "model.safetensors")
    reported = graphio("convert", folder, folder / "model.safetensors", code=exits.USAGE).err
    assert "or a part of it" in reported
    graphio("convert", folder, folder / "other.npz")


@pytest.mark.parametrize("target", ["old.gio", "old.onnx", "old.npz", "old"])
def test_a_conversion_that_fails_leaves_the_old_target_and_nothing_else(
    graphio: Command, files: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphio(
        "convert",
        files / "net.gio",
        files / target,
        *(["-s", "predict"] if "onnx" in target else []),
    )
    before = contents(files)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    more = ["-s", "predict"] if "onnx" in target else []
    reported = graphio("convert", files / "net.gio", files / target, *more, code=exits.FILE).err
    assert "No space left" in reported and contents(files) == before


def test_an_onnx_file_with_its_weights_beside_it_is_written_as_a_whole(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphio.onnx import exporting

    monkeypatch.setattr(exporting, "_SINGLE_FILE", 1)
    path, weights = files / "large.onnx", np.ones((20, 20), np.float32)
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        x = tf.placeholder(tf.float32, [None, 20])
        ends = ({"x": x}, {"y": tf.matmul(x, tf.constant(weights))})
        tf.saved_model.save(str(files / "net.gio"), session, {"predict": ends})
    tf.onnx.from_model(files / "net.gio", path, signature="predict")
    assert (files / "large.onnx.data").stat().st_size > 0
    onnx.load(path)
    before = contents(files)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(onnx, "save_model", full)
    with pytest.raises(OSError, match="No space"):
        tf.onnx.from_model(files / "net.gio", path, signature="predict")
    assert contents(files) == before


# ---- the other commands ----


@pytest.mark.parametrize(
    "words, reported",
    [
        (
            ["inspect", "{net.gio}", "--size", "x=2,3", "-s", "predict"],
            ["--signature", "--size", "for --cost"],
        ),
        (["inspect", "{net-2}", "--cost", "--nodes"], ["--cost", "--nodes", "for models"]),
        (["verify", "{net-2}", "{net.gio}", "--all"], ["--all", "folders of checkpoints"]),
        (
            ["run", "{net.onnx}", "--tolerance", "1", "--engine", "runtime", "--threads", "2"],
            ["--tolerance", "--threads"],
        ),
        (["run", "{net.onnx}", "-i", "{net.npz}", "--size", "batch=2"], ["--size does nothing"]),
        (["bench", "{net.onnx}", "--engine", "runtime", "--threads", "2"], ["--threads"]),
        (["profile", "{net.onnx}", "--rows", "2", "--json"], ["--rows", "JSON has all"]),
        (
            ["show", "{net.onnx}", "--svg", "x.svg", "--port", "1", "--no-browser"],
            ["--port", "--browser"],
        ),
        (["show", "{net.onnx}", "-s", "predict"], ["--signature", "one graph"]),
    ],
)  # fmt: skip
def test_other_commands_refuse_options_that_do_nothing(
    graphio: Command, files: Path, words: list[str], reported: list[str]
) -> None:
    given = [str(files / word[1:-1]) if word.startswith("{") else word for word in words]
    done = graphio(*given, code=exits.USAGE)
    assert [text for text in reported if text not in done.err] == []


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["run", "{net.onnx}", "-i", "{in.npz}", "-o", "{in.npz}"], "is what is read"),
        (["run", "{net.onnx}", "-i", "image={in.npz}", "-o", "{in.npz}"], "is what is read"),
        (["run", "{net.onnx}", "--expect", "{in.npz}", "-o", "{in.npz}"], "is what is read"),
        (["show", "{net.onnx}", "--svg", "{net.onnx}"], "name it so, such as"),
        (["profile", "{net.onnx}", "--trace", "{net.onnx}"], "name it so, such as"),
    ],
)
def test_other_commands_do_not_write_over_what_they_read(
    graphio: Command, files: Path, words: list[str], reported: str
) -> None:
    np.savez(files / "in.npz", image=np.float32([[1, 2, 3]]))
    before = contents(files)
    given = [word.replace("{", f"{files}/").replace("}", "") for word in words]
    assert reported in graphio(*given, code=exits.USAGE).err
    assert contents(files) == before


def test_a_runtime_has_one_row_in_a_comparison(graphio: Command, files: Path) -> None:
    options = ["--seconds", "0.02", "--threads", 1, "--threads", 2, "--json"]
    engines = ["--engine", "cinfer", "--engine", "runtime"]
    facts = graphio("bench", files / "net.onnx", *options, *engines).json
    rows = [(row["engine"], row["threads"]) for row in facts["engines"]]
    assert rows == [("cinfer", 1), ("runtime", 1), ("cinfer", 2)]


def test_an_example_that_somebody_changed_is_not_written_over(
    graphio: Command, files: Path, tmp_path: Path
) -> None:
    out = tmp_path / "c"
    for _ in range(2):  # exporting again loses nothing
        graphio("export-c", files / "net.gio", "-o", out)
    (out / "net_example.c").write_text("int main(void) { return 0; }\n")
    before = contents(out)
    reported = graphio("export-c", files / "net.gio", "-o", out, "--embed", code=exits.USAGE).err
    assert "--force replaces it" in reported and contents(out) == before
    graphio("export-c", files / "net.gio", "-o", out, "--force")
    assert "net_predict" in (out / "net_example.c").read_text()


def test_a_model_that_is_called_like_a_header_is_not_written_over(
    graphio: Command, files: Path
) -> None:
    (files / "net.gio").rename(files / "net.h")
    before = contents(files)
    reported = graphio("export-c", files / "net.h", "-o", files, code=exits.USAGE).err
    assert "give --name" in reported and contents(files) == before


@pytest.mark.parametrize("name", ["out.npy", "out.npz"])
def test_outputs_that_cannot_be_written_leave_the_old_file(
    graphio: Command, files: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphio("run", files / "net.onnx", "-o", files / name)
    before = contents(files)

    def full(*_: Any) -> None:
        raise errors.UnavailableError(message="No space left")

    monkeypatch.setattr(stores.LocalStore, "barrier", full)
    monkeypatch.setattr(os, "fsync", full)
    graphio("run", files / "net.onnx", "-o", files / name, code=exits.FILE)
    assert contents(files) == before


def test_a_checkpoint_of_a_newer_version_is_neither_whole_nor_damaged(
    graphio: Command, files: Path
) -> None:
    import struct

    from graphio.schema.crc32c import crc32c

    for path, at, size in ((files / "net-2.index", 28, 32), (files / "net.gio", 60, 64)):
        data = bytearray(path.read_bytes())
        struct.pack_into("<H", data, 8, 2)
        struct.pack_into("<I", data, at, crc32c(bytes(data[:at])))
        path.write_bytes(data)
        assert len(data) > size
    done = graphio("verify", files / "net-2", files / "net.gio", "--json", code=exits.FILE)
    assert [row["whole"] for row in done.json] == [None, None]
    for words in (
        ["ls", files / "net-2"],
        ["inspect", files / "net.gio"],
        ["run", files / "net.gio"],
    ):
        assert "newer" in graphio(*words, code=exits.FILE).err
