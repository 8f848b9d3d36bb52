"""Opening other files as models, and saving to a missing folder: both engines report the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import engines
import pytest
from command_line import small_onnx, trained

from graphio import cinfer
from graphio.support import errors


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = trained(tmp_path_factory.mktemp("files"))
    small_onnx(folder / "net.onnx")
    (folder / "notes.gio").write_text("nothing\n")
    (folder / "cut.gio").write_bytes((folder / "net.gio").read_bytes()[:-1])
    os.mkfifo(folder / "pipe")
    return folder


@engines.BOTH
@pytest.mark.parametrize(
    "name, text",
    [
        ("net.onnx", "is an ONNX file: graphio.onnx.load runs it, `graphio convert` makes a model"),
        ("net-1.index", "is the index of a checkpoint"),
        ("notes.gio", "is not a model file: it does not begin as one"),
    ],
)
def test_another_kind_of_file_is_reported(engine: str, name: str, text: str, files: Path) -> None:
    path = files / name
    with pytest.raises(errors.DataLossError) as of_file:
        engines.module(engine).load(path)
    assert of_file.value.message.startswith(f"'{path}' {text}")
    with pytest.raises(errors.DataLossError) as of_bytes:
        engines.module(engine).load(path.read_bytes())
    assert of_bytes.value.message.startswith(f"source {text}")


@engines.BOTH
def test_an_error_of_a_damaged_file_names_it(engine: str, files: Path) -> None:
    with pytest.raises(errors.DataLossError, match=r"^cut\.gio: the model file is damaged: "):
        engines.module(engine).load(files / "cut.gio")
    with pytest.raises(errors.DataLossError, match=r"^the model file is damaged: "):
        engines.module(engine).load((files / "cut.gio").read_bytes())


@engines.BOTH
@pytest.mark.parametrize("name", ["", "pipe"])
def test_a_folder_or_a_pipe_is_no_file(engine: str, name: str, files: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="is not a regular file"):
        engines.module(engine).load(files / name)


@engines.BOTH
@pytest.mark.parametrize("source, found", [(None, "None"), (3, "of type int")])
def test_what_is_neither_a_path_nor_bytes_is_reported(engine: str, source: Any, found: str) -> None:
    with pytest.raises(TypeError) as error:
        engines.module(engine).load(source)
    assert str(error.value) == f"source is {found}, expected a path or the bytes of a model file"


@engines.BOTH
def test_a_state_is_not_saved_into_what_is_no_folder(engine: str, files: Path) -> None:
    state = engines.module(engine).load(files / "net.gio").state
    before = sorted(os.listdir(files))
    for folder, kind in (
        ("nowhere", errors.NotFoundError),
        ("nowhere/deeper", errors.NotFoundError),
        ("net.gio", errors.InvalidArgumentError),
    ):
        with pytest.raises(kind, match=folder):
            state.save(files / folder / "m", 1)
    assert sorted(os.listdir(files)) == before


@engines.BOTH
def test_inputs_without_names_are_refused_with_their_names(engine: str, files: Path) -> None:
    train = engines.module(engine).load(files / "net.gio").signature("train")
    with pytest.raises(TypeError, match=r"'train' takes its inputs by name: \(x=..., y=...\)"):
        train([[1, 2, 3]], [[1, 0]])


@engines.BOTH
def test_the_only_input_of_a_signature_needs_no_name(engine: str, files: Path) -> None:
    predict = engines.module(engine).load(files / "net.gio").signature("predict")
    (key,) = predict.inputs
    value = [[1, 2, 3]]
    (one,), (other,) = predict(value).values(), predict(**{key: value}).values()
    assert one.tolist() == other.tolist()
    with pytest.raises(TypeError, match=f"takes one input, with or without its name: .{key}=..."):
        predict(value, value)
    with pytest.raises(TypeError, match="takes one input"):
        predict(value, **{key: value})


@pytest.mark.parametrize("threads", [0, -5, "2", 2.0, None, 1 << 31])
def test_a_number_of_threads_that_cannot_be_is_refused(threads: Any, files: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=f"threads is {threads!r}, expected"):
        cinfer.load(files / "net.gio", threads=threads)
