"""Builds of cinfer with some families of operators: their size, their bits, what they refuse."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import c_library
import numpy as np
import pytest
from bundled_models import bundled
from c_library import CINFER, Library, Refused, tool
from engines import Builder, module, one_node, set_attribute

import graphio as tf
import graphio.onnx as tfonnx
from graphio.schema import container
from graphio.schema import model_pb2 as pb

Array = np.ndarray[Any, Any]
MOST_BYTES = 330 * 1000
#: the families of families.h that are not operators
PARTS = {"checkpoints", "types", "custom"}


def families() -> list[str]:
    text = (CINFER / "src" / "families.h").read_text()
    return re.findall(r"^#define CI_FAMILY_(\w+) ", text, re.MULTILINE)


def test_every_operator_belongs_to_a_family_and_every_family_has_one() -> None:
    inside, found = "", set()
    for line in (CINFER / "src" / "ops.def").read_text().splitlines():
        if line.startswith("#"):
            inside = line.removeprefix("#if CI_TAKES(").rstrip(")") if line != "#endif" else ""
        elif line.startswith("CI_FAMILY("):
            assert line == f"CI_FAMILY({inside})"
            found.add(inside)
        elif line.startswith("CI_OP("):
            assert inside, f"no family: {line}"
    assert found == set(families()) - PARTS


def test_no_name_of_a_family_is_part_of_another() -> None:
    """verify.c finds a family in a list by its name."""
    assert not [(a, b) for a in families() for b in families() if a != b and a in b]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stripped shared library of the preset."""
    return c_library.build(tmp_path_factory.mktemp("inference"), "-DCINFER_PRESET=inference")


@pytest.fixture(scope="module")
def small(path: Path) -> Library:
    return Library(path)


def test_the_inference_build_is_small(path: Path) -> None:
    assert path.stat().st_size < MOST_BYTES


# ---- the same bits as the library with everything ----


def built(make: Callable[[Any], Any], *shape: int | None) -> bytes:
    """The model file of a function of one input, x."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, shape, name="x")
        made = make(x)
        session.run(tf.global_variables_initializer())
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.gio"
            tf.saved_model.save(str(file), session, {"predict": ({"x": x}, {"y": made})})
            return file.read_bytes()


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def weight(*shape: int) -> Any:
    return tf.Variable(normal(*shape) / np.sqrt(np.prod(shape[:-1])).astype(np.float32))


def digits(x: Any) -> Any:
    """Two convolutions with pooling, two dense layers: the class."""
    h = tf.nn.relu(tf.nn.conv2d(x, weight(3, 3, 1, 16), strides=1, padding="SAME"))
    h = tf.nn.max_pool(h, 2, 2, "VALID")
    h = tf.nn.relu(tf.nn.conv2d(h, weight(3, 3, 16, 32), strides=1, padding="SAME"))
    h = tf.reshape(tf.nn.avg_pool(h, 2, 2, "VALID"), [-1, 128])
    h = tf.nn.relu(tf.matmul(h, weight(128, 64)))
    return tf.nn.softmax(tf.matmul(h, weight(64, 10)))


def block(x: Any) -> Any:
    """A block of a transformer, one head."""
    q, k, v = (tf.matmul(x, weight(32, 32)) for _ in range(3))
    scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / np.float32(32**0.5))
    h = x + tf.matmul(tf.matmul(scores, v), weight(32, 32))
    mean, variance = tf.nn.moments(h, [-1], keep_dims=True)
    h = (h - mean) * tf.rsqrt(variance + 1e-5)
    wide = tf.matmul(h, weight(32, 64))
    return h + tf.matmul(wide * (1.0 + tf.erf(wide * np.float32(0.5**0.5))), weight(64, 32))


def compare(small: Library, data: bytes, feeds: Mapping[str, Array]) -> None:
    everything = module("cinfer").load(data).signature("predict")
    expected = everything.run([feeds[name] for name in everything.inputs])
    found = small.run(data, feeds)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        assert one.tobytes() == np.ascontiguousarray(other).tobytes()


@pytest.mark.parametrize("rows", [1, 5])
def test_a_convolutional_net_gives_the_same_bits(small: Library, rows: int) -> None:
    compare(small, built(digits, None, 8, 8, 1), {"x": normal(rows, 8, 8, 1)})


def test_a_class_is_the_same(small: Library) -> None:
    made = built(lambda x: tf.argmax(tf.matmul(x, weight(20, 7)), axis=1), None, 20)
    compare(small, made, {"x": normal(3, 20)})


def test_a_block_of_a_transformer_gives_the_same_bits(small: Library) -> None:
    compare(small, built(block, 16, 32), {"x": normal(16, 32)})


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_architectures_give_the_same_bits(small: Library, name: str) -> None:
    data = tfonnx.convert(bundled(name)[0])
    assert data is not None
    signature = module("cinfer").load(data).signature("predict")
    compare(small, data, {next(iter(signature.inputs)): normal(1, 3, 224, 224)})


@pytest.mark.parametrize("name", ["mlp", "resnet", "mobilenet", "tagger", "bert", "gpt"])
def test_exports_of_torch_give_the_same_bits(small: Library, name: str) -> None:
    pytest.importorskip("torch")
    import torch_models

    data = tfonnx.convert(torch_models.exported(name, dynamo=False))
    assert data is not None
    compare(small, data, torch_models.CASES[name].feed(2))


# ---- operators that a build leaves out ----


def refusal(small: Library, make: Callable[[Any], Any], *shape: int | None) -> str:
    with pytest.raises(Refused) as caught:
        small.open(built(make, *shape))
    return str(caught.value)


def test_one_message_lists_what_is_left_out_and_how_to_have_it(small: Library) -> None:
    def both(x: Any) -> Any:
        best, _ = tf.nn.top_k(x, 2)
        return tf.einsum("ij,kj->ik", best, best) + tf.cast(tf.linalg.det(x[:4]), tf.float32)

    reported = refusal(small, both, 4, 4)
    assert "TopK version" in reported and "family selection" in reported
    assert (
        "Einsum version" in reported and "Det version" in reported and "family algebra" in reported
    )
    assert "add selection, algebra to CINFER_FAMILIES (CMake) or CI_FAMILIES (one file)" in reported


def test_operators_inside_fused_ones_are_listed_too(small: Library) -> None:
    reported = refusal(small, lambda x: tf.sin(x * 2.0) + tf.floor(x) * 3.0, None, 4)
    assert "Sin in FusedElementwise" in reported and "Floor in FusedElementwise" in reported
    assert (
        "add trigonometry, rounding to" in reported or "add rounding, trigonometry to" in reported
    )


def fused(*ops: str, **more: Any) -> pb.Node:
    """A node of these operators, which is not run."""
    made = pb.Node(name=f"n{len(ops)}", op="FusedElementwise", domain="graphio", version=1)
    made.input.append("x")
    for key, value in sorted({"ops": ops, **more}.items()):
        set_attribute(made, key, value)
    return made


def test_operators_inside_are_listed_once_and_families_too(small: Library) -> None:
    builder = Builder()
    builder.placeholder("x", np.float32, [2])
    added = [
        fused("Asin", "Sin", "Sin", "Asin", "GeluTanh", "Floor", "Cos"),
        fused("Sin"),
        pb.Node(name="odd", op="FusedElementwise", domain="graphio", version=1, input=["x"]),
        pb.Node(name="plain", op="Relu", version=14, input=["x"]),
    ]
    set_attribute(added[2], "ops", 1)
    set_attribute(added[3], "ops", ["Sin"])
    added[0].name = "Cos in FusedElementwise"
    builder.model.graph.node.extend(added)
    builder.model.signature.add(name="predict", target=[node.name for node in added])
    with pytest.raises(Refused) as caught:
        small.open(container.pack(builder.model, builder.arrays))
    reported = str(caught.value)
    names = re.findall(r"(\w+) in FusedElementwise \(node", reported)
    assert names == ["Asin", "Sin", "Floor", "Cos"]
    assert "without these families: add trigonometry, rounding to CINFER_FAMILIES" in reported


def test_an_operator_that_no_build_has_is_reported_as_before(small: Library) -> None:
    data, _ = one_node("Marvel", [np.zeros(1, np.float32)], {}, [np.float32], version=1)
    with pytest.raises(Refused) as caught:
        small.open(data)
    assert "lacks operators of the model: Marvel version 1" in str(caught.value)
    assert "FAMILIES" not in str(caught.value)


def test_types_and_checkpoints_that_are_left_out_are_reported(
    small: Library, tmp_path: Path
) -> None:
    def double(x: Any) -> Any:
        wide = tf.cast(x, tf.float64)
        return tf.cast(wide + wide, tf.float32)

    with pytest.raises(Refused, match="float64, with which .* not compute: add types to"):
        small.run(built(double, 2, 2), {"x": normal(2, 2)})
    with pytest.raises(Refused, match="built without checkpoints: add checkpoints to"):
        small.save(built(lambda x: x + weight(2), 2), tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", "float64 int8 int16 uint16 uint32 uint64".split())
def test_types_that_are_left_out_are_reported_at_the_node(small: Library, dtype: str) -> None:
    x = np.ones(3, dtype)
    data, _ = one_node("Clip", [x, None, x[0]], {}, [x.dtype], version=13)
    with pytest.raises(Refused, match=f"input 0 has type {dtype}, with which"):
        small.run(data, {"in0": x, "in2": x[0]})


def test_types_that_are_there_need_no_family(small: Library) -> None:
    x = np.float32([-1, 0.5, 2])
    data, _ = one_node("Clip", [x, None, np.float32(1)], {}, [np.float32], version=13)
    (got,) = small.run(data, {"in0": x, "in2": np.array(1, np.float32)})
    assert got.tolist() == [-1, 0.5, 1]


def test_cmake_names_the_families_where_one_is_unknown(tmp_path: Path) -> None:
    command = [tool("cmake"), "-S", CINFER, "-B", tmp_path, "-DCINFER_FAMILIES=linear;woods"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode != 0 and "CI_FAMILY_woods" not in done.stderr
    assert "CINFER_FAMILIES has 'woods'" in done.stderr and "recurrent" in done.stderr


PROGRAM = """
#include <stdio.h>
#include "cinfer.h"
int main(int argc, char **argv) {
  ci_model *model;
  ci_error error;
  for (int i = 1; i < argc; i++) {
    if (ci_open(argv[i], NULL, &model, &error) == CI_OK) puts("opened");
    else puts(error.message);
  }
  return 0;
}
"""


def test_one_file_has_the_families_that_are_requested(tmp_path: Path) -> None:
    (tmp_path / "app.c").write_text(PROGRAM)
    (tmp_path / "dense.gio").write_bytes(built(lambda x: tf.matmul(x, weight(4, 2)), None, 4))
    (tmp_path / "sorted.gio").write_bytes(built(lambda x: tf.nn.top_k(x, 2)[0], None, 4))
    app = tmp_path / "app"
    options = "-O1 -DCI_FAMILIES=CI_FAMILY_linear -DCI_NO_AVX2 -DCI_NO_AVX512".split()
    command = [tool("cc"), *options, f"-I{CINFER / 'include'}"]
    command += [str(tmp_path / "app.c"), str(CINFER / "cinfer.c"), "-lm", "-pthread"]
    subprocess.run([*command, "-o", str(app)], check=True)
    files = [tmp_path / "dense.gio", tmp_path / "sorted.gio"]
    reported = subprocess.run([app, *files], capture_output=True, text=True, check=True).stdout
    assert reported.splitlines()[0] == "opened"
    assert "TopK" in reported and "add selection to CINFER_FAMILIES" in reported
    names = subprocess.run([tool("nm"), app], capture_output=True, text=True, check=True).stdout
    assert "ci_run_matmul" in names and "ci_run_recurrent" not in names and "conv_rows" not in names
