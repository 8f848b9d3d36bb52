"""Models and files in object stores: saved, loaded, converted, and through tf.io.gfile."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import object_stores
import pytest
from command_line import Command, small_onnx
from folders import TENSORFLOW_MODELS

import graphio as tf
from graphio.storage import remote
from graphio.support import errors

folder, watched = object_stores.folder, object_stores.watched
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
X = np.float32([[1.0, 2.0]])


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def session() -> tuple[Any, Any, Any]:
    """A session, an input and an output that reads a variable."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", initializer=np.float32([[1.0], [10.0]]))
    y = tf.matmul(x, w, name="y")
    made = tf.Session()
    made.run(tf.global_variables_initializer())
    return made, x, y


@TARGETS
def test_a_model_is_saved_to_a_store_and_loaded_from_it(target: str, folder: str) -> None:
    made, x, y = session()
    url = f"{folder}/net.gio"
    tf.saved_model.save(url, made, {"predict": ({"x": x}, {"y": y})})
    model = tf.saved_model.load(url, target)
    assert model.signature("predict")(X)["y"].tolist() == [[21.0]]
    engine: Any = tf.cinfer if target == "cinfer" else tf.runtime
    assert engine.load(url).signatures == ("predict",)
    data = pickle.dumps(model)
    assert len(data) < 600
    assert pickle.loads(data).signature()(X)["y"].tolist() == [[21.0]]


@TARGETS
def test_a_folder_in_a_store_is_a_saved_model(target: str, folder: str) -> None:
    made, x, y = session()
    tf.saved_model.simple_save(made, f"{folder}/net", {"x": x}, {"y": y})
    with pytest.raises(AssertionError, match=r"isn't empty.*saved_model\.gio, saved_model\.pb"):
        tf.saved_model.simple_save(made, f"{folder}/net", {"x": x}, {"y": y})
    assert tf.saved_model.maybe_saved_model_directory(f"{folder}/net")
    model = tf.saved_model.load(f"{folder}/net", target)
    assert model.signature()(X)["y"].tolist() == [[21.0]]
    with tf.Graph().as_default(), tf.Session(target) as other:
        tf.saved_model.load(other, ["serve"], f"{folder}/net")
        assert other.run("y:0", {"x:0": X}).tolist() == [[21.0]]


def test_a_save_is_one_put(folder: str, watched: object_stores.Watched) -> None:
    made, x, y = session()
    tf.saved_model.save(f"{folder}/net.gio", made, {"predict": ({"x": x}, {"y": y})})
    assert watched.writes == [("put", "net.gio")]
    watched.before = object_stores.unavailable
    with pytest.raises(errors.UnavailableError, match=r"net\.gio.*no answer"):
        tf.saved_model.save(f"{folder}/net.gio", made, {"predict": ({"x": x}, {"y": y})})


def test_onnx_models_are_read_and_written(folder: str, tmp_path: Path) -> None:
    small_onnx(tmp_path / "net.onnx")
    fs = fsspec.filesystem("memory")
    fs.put(str(tmp_path / "net.onnx"), f"{folder}/net.onnx")
    image = np.ones((2, 3), np.float32)
    expected = tf.onnx.load(tmp_path / "net.onnx").signature()(image)["score"]
    assert (
        tf.onnx.load(f"{folder}/net.onnx").signature()(image)["score"].tolist() == expected.tolist()
    )
    tf.onnx.convert(f"{folder}/net.onnx", f"{folder}/net.gio")
    tf.onnx.from_model(f"{folder}/net.gio", f"{folder}/again.onnx")
    again = tf.onnx.load(f"{folder}/again.onnx", "cinfer").signature()(image)["score"]
    np.testing.assert_allclose(again, expected, rtol=1e-6)


def test_a_saved_model_of_tensorflow_is_read(folder: str, tmp_path: Path) -> None:
    models = TENSORFLOW_MODELS
    zipfile.ZipFile(models / "mlp.zip").extractall(tmp_path)
    fsspec.filesystem("memory").put(str(tmp_path / "mlp"), f"{folder}/mlp", recursive=True)
    near = tf.saved_model.load(tmp_path / "mlp")
    far = tf.saved_model.load(f"{folder}/mlp")
    assert far.signatures == near.signatures


def test_what_is_not_there_is_reported_by_its_address(folder: str) -> None:
    for load in (tf.runtime.load, tf.cinfer.load, tf.saved_model.load, tf.onnx.load):
        with pytest.raises(errors.NotFoundError, match=folder):
            load(f"{folder}/none.gio")
    with pytest.raises(errors.InvalidArgumentError, match="ftp://.* puts are atomic"):
        tf.runtime.load("ftp://host/net.gio")


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise ImportError("Install s3fs")

    monkeypatch.setattr(fsspec, "filesystem", missing)
    for use in (
        lambda: tf.saved_model.load("s3://bucket/net.gio"),
        lambda: tf.io.gfile.exists("s3://bucket/net.gio"),
    ):
        with pytest.raises(ImportError, match=r"s3:// needs .*\[remote\]' s3fs"):
            use()


# ---- tf.io.gfile ----


def test_files_are_written_read_and_listed(folder: str) -> None:
    gfile = tf.io.gfile
    gfile.makedirs(f"{folder}/deep")
    with gfile.GFile(f"{folder}/deep/a.txt", "w") as file:
        file.write("one\nzwölf\n")
    with gfile.GFile(f"{folder}/deep/a.txt") as file:
        assert file.size() == 11 and list(file) == ["one\n", "zwölf\n"]
    with gfile.GFile(f"{folder}/deep/a.txt", "rb") as file:
        file.seek(4)
        assert file.read(2) == b"zw"
    gfile.copy(f"{folder}/deep/a.txt", f"{folder}/b.txt")
    assert gfile.isdir(f"{folder}/deep") and not gfile.isdir(f"{folder}/b.txt")
    assert gfile.stat(f"{folder}/b.txt").length == 11 and gfile.stat(folder).is_directory
    assert gfile.listdir(folder) == ["b.txt", "deep"]
    assert gfile.glob(f"{folder}/*.txt") == [f"{folder}/b.txt"]
    assert [*gfile.walk(folder)] == [
        (folder, ["deep"], ["b.txt"]),
        (f"{folder}/deep", [], ["a.txt"]),
    ]
    gfile.remove(f"{folder}/b.txt")
    gfile.rmtree(f"{folder}/deep")
    assert not gfile.exists(f"{folder}/b.txt") and not gfile.exists(f"{folder}/deep/a.txt")


def test_files_are_copied_between_this_machine_and_a_store(folder: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"123")
    tf.gfile.Copy(f"file://{tmp_path}/a", f"{folder}/a")
    tf.gfile.Copy(f"{folder}/a", str(tmp_path / "b"))
    assert (tmp_path / "b").read_bytes() == b"123"
    with pytest.raises(errors.AlreadyExistsError, match="overwrite=True"):
        tf.gfile.Copy(f"{folder}/a", str(tmp_path / "b"))


def test_what_a_store_cannot_do_is_reported(folder: str) -> None:
    tf.gfile.GFile(f"{folder}/a", "w").close()
    with pytest.raises(errors.UnimplementedError, match="copy and remove"):
        tf.gfile.Rename(f"{folder}/a", f"{folder}/b")
    with pytest.raises(errors.UnimplementedError, match="changes no part of a file"):
        tf.gfile.GFile(f"{folder}/a", "a").write("x")
    with pytest.raises(errors.UnimplementedError, match="'hdfs' not implemented.*s3://"):
        tf.gfile.Exists("hdfs://host/a")
    for call in (tf.gfile.Remove, tf.gfile.ListDirectory, tf.gfile.Stat):
        with pytest.raises(errors.NotFoundError, match="none"):
            call(f"{folder}/none")
    with pytest.raises(errors.NotFoundError):
        tf.gfile.GFile(f"{folder}/none").read()
    assert set(remote.KINDS) >= {"s3", "gs", "az", "memory"}


def test_an_error_of_a_stores_package_names_the_file(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise LookupError("no credentials")

    monkeypatch.setattr(fsspec.filesystem("memory").__class__, "info", refused)
    with pytest.raises(errors.UnavailableError, match=f"{folder}.*no credentials"):
        tf.gfile.Stat(folder)


def test_the_command_line_takes_urls(
    folder: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    graphio = Command(capfd)
    made, x, y = session()
    tf.saved_model.save(f"{folder}/net.gio", made, {"predict": ({"x": x}, {"y": y})})
    tf.train.Saver().save(made, f"{folder}/run/m", global_step=3)
    small_onnx(tmp_path / "net.onnx")
    done = graphio("inspect", f"{folder}/net.gio", "--json").json
    assert done["kind"] == "graphio model" and done["bytes"] > 500
    assert graphio("verify", f"{folder}/net.gio", f"{folder}/run/m-3", "--json").json[1]["whole"]
    assert graphio("ls", f"{folder}/run/m-3", "--json").json["step"] == 3
    assert graphio("run", f"{folder}/net.gio", "--json").json["signature"] == "predict"
    done = graphio("convert", tmp_path / "net.onnx", f"{folder}/made.gio", "--json").json
    assert done["bytes"] == len(fsspec.filesystem("memory").cat(f"{folder}/made.gio"))
    graphio("convert", f"{folder}/made.gio", f"{folder}/made.safetensors")
    assert graphio("ls", f"{folder}/made.safetensors", "--json").json["kind"] == "weights"
    assert "1 of 1 tensors" in graphio("diff", f"{folder}/net.gio", f"{folder}/run").out
    assert "there is no file" in graphio("inspect", f"{folder}/none", code=3).err
