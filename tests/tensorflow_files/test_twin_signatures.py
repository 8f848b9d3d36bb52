"""Models whose signatures compute the same: "serving_default" stands for all."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engines
import pytest
from command_line import Command
from folders import TENSORFLOW_MODELS

import graphio as tf
from graphio import tensorflow_files
from graphio.command_line import exits
from graphio.engine import calls
from graphio.schema import container
from graphio.schema import model_pb2 as pb
from graphio.tensorflow_files.twins import default_signature

MODELS = TENSORFLOW_MODELS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    for name in ("mlp", "lstm", "signatures"):
        zipfile.ZipFile(MODELS / f"{name}.zip").extractall(made)
    for name in ("mlp", "lstm"):
        tensorflow_files.convert(made / name, made / f"{name}.gio")
    return made


@pytest.mark.parametrize("name", ["mlp", "lstm"])
@engines.BOTH
def test_keras_models_need_no_name_of_a_signature(engine: str, name: str, folder: Path) -> None:
    """The lstm has a loop, whose body has other names in each of the two."""
    for source in (folder / name, folder / f"{name}.gio"):
        model = tf.saved_model.load(source, engine)
        assert model.signatures == ("serve", "serving_default")
        assert model.signature().name == "serving_default"


def test_signatures_that_differ_must_be_named(folder: Path) -> None:
    model = tf.saved_model.load(folder / "signatures")
    with pytest.raises(ValueError, match="name a signature: the model has embed, score"):
        model.signature()


def test_the_command_line_takes_the_same(
    capfd: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    graphio = Command(capfd)
    for source in (folder / "mlp", folder / "mlp.gio"):
        assert graphio("run", source, "--json").json["signature"] == "serving_default"
    graphio("convert", folder / "mlp.gio", tmp_path / "mlp.onnx")
    graphio("convert", folder / "mlp.gio", tmp_path / "one.gio", "-s", "serve")
    assert graphio("run", tmp_path / "one.gio", "--json").json["signature"] == "serve"
    graphio("convert", folder / "signatures", tmp_path / "two.onnx", code=exits.USAGE)


def weights(model: pb.Model, arrays: list[Any]) -> None:
    """Changes a number that one of the two reads."""
    nodes = {node.name: node for node in model.graph.node}
    serve = next(s for s in model.signature if s.name == "serve")
    node = nodes[serve.output[0].value]
    node.attr.add(key="alpha").value.f = 0.5


def inputs(model: pb.Model, arrays: list[Any]) -> None:
    model.signature[0].input[0].type.tensor.dtype = 11


def name_only(model: pb.Model, arrays: list[Any]) -> None:
    model.signature[1].name = "main"


@pytest.mark.parametrize("change", [weights, inputs, name_only])
def test_a_difference_of_any_kind_makes_them_two(
    change: Callable[[pb.Model, list[Any]], None], folder: Path
) -> None:
    data = tensorflow_files.convert(folder / "mlp", optimize="none")
    model, arrays = container.unpack(data)
    assert default_signature(model, list(arrays)) == "serving_default"
    change(model, list(arrays))
    assert default_signature(model, list(arrays)) is None


def test_a_default_that_is_not_among_the_signatures_is_no_default() -> None:
    reported = {calls.DEFAULT_SIGNATURE: "gone"}
    assert calls.choose(None, ["only"], reported) == "only"
    with pytest.raises(ValueError, match="name a signature: the model has a, b"):
        calls.choose(None, ["a", "b"], reported)
    assert calls.choose("b", ["a", "b"], reported) == "b"
