"""Values from the files of other frameworks, and variables written for them."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from folders import ROOT, TESTS

import graphio as tf
from graphio.schema import dtypes
from graphio.support import errors
from graphio.train.interop.sources import Entry, open_source

FOREIGN = TESTS / "golden" / "foreign"
#: golden file to how it is opened
GOLDEN = {
    "torch_state": "torch_state.pt",
    "torch_training": "torch_training.pt",
    "torch_tiny": "torch_tiny.pt",
    "torch_network": "torch_network.pt",
    "tf_saver": "tf_saver",
    "tf_sharded": "tf_sharded",
    "tf_objects": "tf_objects",
}


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def golden(kind: str) -> dict[str, Any]:
    """The values that the framework itself reads from a golden file, by our names."""
    suffix = "/.ATTRIBUTES/VARIABLE_VALUE"
    with np.load(FOREIGN / f"{kind}.expected.npz") as found:
        names = [name for name in found.files if not name.startswith("(")]
        return {name.removesuffix(suffix): found[name] for name in names}


def assert_same(found: Any, expected: Any) -> None:
    """The same values; those of types that numpy lacks by way of float32."""
    if found.dtype == object:
        assert found.tolist() == expected.astype(object).tolist()
    else:
        assert found.dtype == expected.dtype or found.dtype.itemsize <= 2
        np.testing.assert_array_equal(found.astype(expected.dtype), expected)
    assert found.shape == expected.shape


# ---- golden files ----


@pytest.mark.parametrize("kind", GOLDEN)
def test_what_a_framework_wrote_is_read_as_it_reads_it_itself(kind: str) -> None:
    values, expected = tf.train.load_values(FOREIGN / GOLDEN[kind]), golden(kind)
    assert sorted(values) == sorted(expected)
    for name, value in expected.items():
        assert_same(values[name], value)
        assert not values[name].flags.writeable
        assert values.entries()[name].dims == value.shape


def test_dtypes_of_torch_are_ours() -> None:
    entries = open_source(FOREIGN / "torch_state.pt").entries()
    assert entries["bfloat16"] == Entry(dtypes.BY_NAME["bfloat16"].number, (3,))
    assert entries["float8_e4m3fn"].dtype == dtypes.BY_NAME["float8e4m3fn"].number
    assert entries["e5m2"].dtype == dtypes.BY_NAME["float8e5m2"].number
    assert entries["0.weight"] == Entry(1, (2, 3))


@pytest.mark.parametrize("file", ["torch_tiny.pt", "tf_sharded", "tf_sharded.expected.npz"])
def test_a_name_that_is_not_there_is_reported(file: str) -> None:
    with pytest.raises(errors.NotFoundError, match="Key nothing not found in .* '.*golden"):
        tf.train.load_values(FOREIGN / file)["nothing"]


def test_what_is_no_tensor_in_a_torch_file_is_listed_as_skipped() -> None:
    values = tf.train.load_values(FOREIGN / "torch_training.pt")
    assert values.skipped["epoch"] == "int"
    assert values.skipped["optimizer.param_groups.0.lr"] == "float"
    assert "epoch" not in values


def test_variables_of_an_object_based_checkpoint_have_two_names() -> None:
    values = tf.train.load_values(FOREIGN / "tf_objects")
    assert values.full_names["model/layers/0/kernel"] == "first/kernel"
    assert "_CHECKPOINTABLE_OBJECT_GRAPH" in values.skipped


def test_neither_torch_nor_tensorflow_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    for file in GOLDEN.values():
        assert dict(tf.train.load_values(FOREIGN / file))


# ---- safetensors and Hugging Face ----

SAMPLES: dict[str, Any] = {
    "dense/kernel": np.arange(6, dtype=np.float32).reshape(2, 3),
    "odd": np.arange(3, dtype=np.uint8),
    "wide": np.arange(32, dtype=np.int64),
    "step": np.int32(7),
    "empty": np.zeros((0, 4), np.float16),
    "flags": np.array([True, False]),
    'unicode ü"\\': np.float64([1e300, -0.0]),
}


def test_a_file_of_the_safetensors_package_is_read(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    samples = {name: np.asarray(value) for name, value in SAMPLES.items()}
    save_file(samples, tmp_path / "m.safetensors", metadata={"format": "np"})
    values = tf.train.load_values(tmp_path / "m.safetensors")
    assert sorted(values) == sorted(samples)
    for name, value in samples.items():
        assert_same(values[name], value)


def test_a_dtype_that_graphio_has_not_is_refused_when_it_is_requested(tmp_path: Path) -> None:
    header = json.dumps(
        {
            "six": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [0, 3]},
            "ok": {"dtype": "U8", "shape": [1], "data_offsets": [3, 4]},
        }
    ).encode()
    path = tmp_path / "m.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"abcd")
    values = tf.train.load_values(path)
    assert values["ok"].tolist() == [100]
    assert values.entries()["six"].dtype == 0
    with pytest.raises(errors.UnimplementedError, match="'six' has the dtype 'F6_E2M3'"):
        values["six"]


def sharded(folder: Path, weight_map: Mapping[str, Any] | None = None) -> Path:
    """A folder as Hugging Face lays large models out."""
    from safetensors.numpy import save_file

    for i, names in enumerate((["a", "b"], ["c"])):
        arrays = {name: np.float32([ord(name), i]) for name in names}
        save_file(arrays, folder / f"model-{i + 1:05}-of-00002.safetensors")
    files = {"a": 1, "b": 1, "c": 2}
    index = weight_map or {n: f"model-{i:05}-of-00002.safetensors" for n, i in files.items()}
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {"total_size": 24}, "weight_map": index}))
    return path


def test_a_folder_of_several_files_is_one_model(tmp_path: Path) -> None:
    index = sharded(tmp_path)
    for where in (tmp_path, index):
        values = tf.train.load_values(where)
        assert {name: values[name].tolist() for name in values} == {
            "a": [97, 0],
            "b": [98, 0],
            "c": [99, 1],
        }


def test_a_folder_with_one_file_is_a_model(tmp_path: Path) -> None:
    tf.train.export_variables(SAMPLES, tmp_path / "model.safetensors")
    assert len(tf.train.load_values(tmp_path)) == len(SAMPLES)


def test_a_folder_of_torch_files_is_one_model(tmp_path: Path) -> None:
    shutil.copy(FOREIGN / "torch_training.pt", tmp_path / "pytorch_model-1.bin")
    names = golden("torch_training")
    index = {"weight_map": dict.fromkeys(names, "pytorch_model-1.bin")}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    assert sorted(tf.train.load_values(tmp_path)) == sorted(names)


# ---- npz ----


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_numpy_archives_are_read(save: Any, tmp_path: Path) -> None:
    arrays = {
        **SAMPLES,
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "big": np.arange(3, dtype=">i4"),
        "texts": np.array([["a", "bcü"], ["", "d"]]),
        "bytes": np.array([b"ab", b"c"]),
        "complex": np.complex64([1 + 2j]),
        "scalar": np.float64(3),
        "zeros": np.zeros(100_000),
    }
    save(tmp_path / "a.npz", **arrays)
    values = tf.train.load_values(tmp_path / "a.npz")
    assert sorted(values) == sorted(arrays)
    for name in set(arrays) - {"texts", "big"}:
        assert_same(values[name], np.asarray(arrays[name]))
    assert values["texts"].tolist() == [[b"a", "bcü".encode()], [b"", b"d"]]
    assert values["big"].tolist() == [0, 1, 2] and values["big"].dtype == np.int32


def test_a_npy_file_is_one_value_of_its_name(tmp_path: Path) -> None:
    np.save(tmp_path / "weights.npy", np.arange(4.0).reshape(2, 2).T)
    values = tf.train.load_values(tmp_path / "weights.npy")
    assert {name: array.tolist() for name, array in values.items()} == {"weights": [[0, 2], [1, 3]]}


def test_pickled_objects_in_an_archive_are_refused_when_they_are_requested(
    tmp_path: Path,
) -> None:
    np.savez(tmp_path / "a.npz", o=np.array([{}, 1], object), x=np.float32([1]))
    values = tf.train.load_values(tmp_path / "a.npz")
    assert values["x"].tolist() == [1]
    with pytest.raises(errors.UnimplementedError, match="pickled Python objects, which are never"):
        values["o"]


# ---- our own, and mappings ----


def test_a_checkpoint_of_ours_and_a_mapping_are_sources(tmp_path: Path) -> None:
    tf.Variable([1.0, 2.0], name="v")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, tmp_path / "m")
    values = tf.train.load_values(prefix)
    assert values["v"].tolist() == [1, 2] and values.entries() == {"v": Entry(1, (2,))}
    assert open_source(values) is values
    assert open_source({"x": [1.5]}).entries() == {"x": Entry(11, (1,))}


def test_saved_model_folders_of_tensorflow_are_read(tmp_path: Path) -> None:
    (tmp_path / "variables").mkdir()
    for part in ("index", "data-00000-of-00001"):
        shutil.copy(FOREIGN / f"tf_objects.{part}", tmp_path / "variables" / f"variables.{part}")
    assert "step" in tf.train.load_values(tmp_path)


@pytest.mark.parametrize(
    ("name", "start", "words"),
    [
        ("legacy.pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j", "a pickle is a program"),
        ("m.h5", b"\x89HDF\r\n\x1a\n....", "HDF5"),
        ("m.gguf", b"GGUF....", "GGUF"),
        ("m.txt", b"hello world", "none of .safetensors"),
        ("empty", b"", "it is empty: its writer"),
    ],
)
def test_other_files_are_refused_with_what_to_do(
    name: str, start: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(start)
    with pytest.raises(errors.InvalidArgumentError, match=words):
        tf.train.load_values(tmp_path / name)


def test_an_index_of_no_known_kind_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "m.index").write_bytes(b"something else")
    with pytest.raises(errors.DataLossError, match="neither starts as the index of a checkpoint"):
        tf.train.load_values(tmp_path / "m")


@pytest.mark.parametrize("file", ["torch_state.pt", "tf_saver"])
def test_verify_and_the_listing_know_them(file: str, tmp_path: Path) -> None:
    count = len(golden(Path(file).stem))
    assert tf.train.verify(FOREIGN / file).variables == count
    assert len(tf.train.list_checkpoint(FOREIGN / file)) == count
    for part in FOREIGN.glob(f"{Path(file).stem}.*"):
        data = bytearray(part.read_bytes())
        data[300] ^= 1  # in the pickle, in the index, in a value
        (tmp_path / part.name).write_bytes(data)
    with pytest.raises(errors.DataLossError, match="damaged"):
        tf.train.verify(tmp_path / file)


def test_a_path_that_should_be_a_prefix_is_refused_with_words(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"without '\.index'"):
        tf.train.load_values(FOREIGN / "tf_saver.index")
    shutil.copy(FOREIGN / "tf_saver.index", tmp_path / "model.ckpt")
    with pytest.raises(errors.InvalidArgumentError, match="of version 1"):
        tf.train.load_values(tmp_path / "model.ckpt")
    with pytest.raises(errors.InvalidArgumentError, match="latest_checkpoint gives the newest"):
        tf.train.load_values(tmp_path)
    with pytest.raises(errors.NotFoundError, match="and no such file"):
        tf.train.load_values(tmp_path / "nothing")


@pytest.mark.parametrize("file", ["torch_state.pt", "tf_sharded"])
def test_files_in_an_object_store_are_read(file: str) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    folder = f"/interop-{file}"
    for part in FOREIGN.glob(f"{Path(file).stem}.*"):
        store.pipe_file(f"{folder}/{part.name}", part.read_bytes())
    values, expected = tf.train.load_values(f"memory:/{folder}/{file}"), golden(Path(file).stem)
    for name, value in expected.items():
        assert_same(values[name], value)
    tf.train.export_variables({"x": [1.0]}, f"memory:/{folder}/model.safetensors")
    assert tf.train.load_values(f"memory:/{folder}")["x"].tolist() == [1.0]
    with pytest.raises(errors.NotFoundError, match="and no such file"):
        tf.train.load_values(f"memory:/{folder}/nothing")


def test_a_checkpoint_beside_a_folder_of_its_name_is_found(tmp_path: Path) -> None:
    tf.Variable(2.0, name="v")
    (tmp_path / "m").mkdir()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, tmp_path / "m")
    assert tf.train.load_values(prefix)["v"] == 2.0


def test_names_that_would_move_a_terminals_cursor_are_printed_as_escapes() -> None:
    shown = str(tf.train.load_values({"a\x1b[2J": [1.0], "ü": [[2]]}))
    assert shown == "'a\\x1b[2J' (float64) [1]\nü (int64) [1, 1]"


# ---- layouts ----


def test_weights_can_be_transposed_by_name(tmp_path: Path) -> None:
    source = {"fc.weight": np.zeros((5, 3)), "conv.weight": np.zeros((8, 4, 3, 2)), "b": [1.0]}
    values = tf.train.load_values(
        source, transpose={r"fc\..*": "linear", "conv.weight": (2, 3, 1, 0)}
    )
    assert values["fc.weight"].shape == values.entries()["fc.weight"].dims == (3, 5)
    assert values["conv.weight"].shape == (3, 2, 4, 8)
    assert values["b"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("transpose", "words"),
    [
        ({"fc": "linear"}, "no name in the given arrays fits 'fc'; it has fc.weight"),
        ({"fc.weight": "dense"}, "'dense' is none of linear, conv1d"),
        ({"fc.weight": "conv2d"}, r"'fc.weight' has the shape \[5, 3\]"),
    ],
)
def test_transposes_that_fit_nothing_are_refused(transpose: Any, words: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=words):
        tf.train.load_values({"fc.weight": np.zeros((5, 3))}, transpose=transpose)


#: torch's names to those of the graph below
RENAMED = [
    (r"(conv|fc1|fc2|depth)\.weight", r"\1/kernel"),
    (r"(\w+)\.bias", r"\1/bias"),
    (r"norm\.weight", "norm/gamma"),
    (r"norm\.running_(mean|var)", r"norm/moving_\1"),
]


def network(x: Any) -> Any:
    """The network of the golden file torch_network.pt; images are [batch, height, width, 3]."""

    def weight(name: str, *shape: int) -> Any:
        return tf.get_variable(name, shape)

    y = tf.nn.conv2d(x, weight("conv/kernel", 3, 2, 3, 4), [1, 1, 1, 1], "SAME")
    y += weight("conv/bias", 4)
    y, _, _ = tf.nn.fused_batch_norm(
        y, weight("norm/gamma", 4), weight("norm/bias", 4), weight("norm/moving_mean", 4),
        weight("norm/moving_var", 4), epsilon=1e-5, is_training=False,
    )  # fmt: skip
    y = tf.nn.relu(y)
    y = tf.nn.depthwise_conv2d(y, weight("depth/kernel", 3, 3, 4, 1), [1, 1, 1, 1], "SAME")
    y = tf.reduce_mean(y + weight("depth/bias", 4), [1, 2])
    y = tf.tanh(tf.matmul(y, weight("fc1/kernel", 4, 5)) + weight("fc1/bias", 5))
    return tf.matmul(y, weight("fc2/kernel", 5, 2)) + weight("fc2/bias", 2)


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_a_network_of_torch_answers_the_same_in_a_graph(target: str) -> None:
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    y = network(x)
    values = tf.train.load_values(
        FOREIGN / "torch_network.pt",
        transpose={"conv.weight": "conv2d", "depth.weight": "depthwise", r"fc\d.weight": "linear"},
    )
    with np.load(FOREIGN / "torch_network.expected.npz") as expected, tf.Session(target) as session:
        tf.train.Saver().restore(session, values, assignment_map=RENAMED)
        images = expected["(input)"].transpose(0, 2, 3, 1)
        np.testing.assert_allclose(
            session.run(y, {x: images}), expected["(output)"], rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_a_saver_restores_a_tensorflow_checkpoint_under_its_own_names(target: str) -> None:
    expected = {name: a for name, a in golden("tf_saver").items() if a.dtype.kind in "fiSu"}
    kinds = {"half": tf.bfloat16, "texts": tf.string}
    variables = {}
    for name, value in expected.items():
        kind = kinds.get(name, value.dtype)
        start = tf.zeros(value.shape, kind) if kind != tf.string else tf.fill(value.shape, "")
        variables[name] = tf.get_variable(name, initializer=start)
    with tf.Session(target) as session:
        tf.train.Saver().restore(session, FOREIGN / "tf_saver")
        for name, variable in variables.items():
            assert_same(session.run(variable), expected[name])


def test_the_example_of_the_page_on_checkpoints_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a conv and an fc layer, whose values have been written in torch's layout."""
    page = (ROOT / "docs" / "checkpoints.md").read_text().split("## Other formats")[1]
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    rng = np.random.default_rng(0)
    shapes = {"conv.weight": (4, 3, 2, 2), "conv.bias": (4,), "fc.weight": (5, 4), "fc.bias": (5,)}
    arrays = {name: rng.normal(size=shape).astype("f4") for name, shape in shapes.items()}
    monkeypatch.chdir(tmp_path)
    np.savez("net.npz", **arrays)
    Path("net.npz").rename("net.pt")  # the bytes say what it is
    tf.get_variable("conv/kernel", (2, 2, 3, 4)), tf.get_variable("conv/bias", (4,))
    tf.get_variable("fc/kernel", (4, 5)), tf.get_variable("fc/bias", (5,))
    with tf.Session() as session:
        exec(program, {"tf": tf, "session": session})
    found = tf.train.load_values("net.safetensors")
    np.testing.assert_array_equal(found["fc/kernel"], arrays["fc.weight"].T)
    np.testing.assert_array_equal(found["conv/kernel"][1, 0], arrays["conv.weight"][:, :, 1, 0].T)


# ---- export ----


@pytest.mark.parametrize("align_all", [False, True])
def test_the_safetensors_package_opens_an_export(align_all: bool, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    path = tmp_path / "m.safetensors"
    tf.train.export_variables(SAMPLES, path, align_all=align_all)
    found = load_file(path)
    pads = {name for name in found if name.startswith("__pad__/")}
    assert found.keys() - pads == SAMPLES.keys() and bool(pads) == align_all
    for name, value in SAMPLES.items():
        assert_same(found[name], np.asarray(value))


def offsets(path: Path) -> dict[str, int]:
    """Where the tensors of a safetensors file start."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__")
    return {name: 8 + length + row["data_offsets"][0] for name, row in header.items()}


def test_exported_tensors_are_aligned(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    tf.train.export_variables(SAMPLES, path)
    assert offsets(path)["wide"] % 64 == 0
    for name, at in offsets(path).items():
        assert at % np.asarray(SAMPLES[name]).itemsize == 0
    tf.train.export_variables(SAMPLES, path, align_all=True)
    padded = offsets(path)
    assert all(padded[name] % 64 == 0 for name in SAMPLES)


def test_numpy_opens_an_export(tmp_path: Path) -> None:
    arrays = {**SAMPLES, "texts": np.array([b"a", b"bcd"], object), "c": np.complex128([1j])}
    tf.train.export_variables(arrays, tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as found:
        assert sorted(found.files) == sorted(arrays)
        for name, value in arrays.items():
            array = np.asarray(value)
            assert_same(found[name].astype(object) if name == "texts" else found[name],
                        array.astype("S") if name == "texts" else array)  # fmt: skip
    values = tf.train.load_values(tmp_path / "m.npz")
    assert values["texts"].tolist() == [b"a", b"bcd"]


def test_torch_opens_an_export(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file

    half = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    tf.train.export_variables({"h": half}, tmp_path / "m.safetensors")
    found = load_file(tmp_path / "m.safetensors")["h"]
    assert found.dtype == torch.bfloat16 and found.tolist() == [1.5, -2.0]


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_a_sessions_variables_are_exported_under_their_names(target: str, tmp_path: Path) -> None:
    tf.get_variable("scope/w", initializer=np.float32([[1, 2]]))
    tf.get_variable("n", initializer=np.int32(3))
    tf.get_variable("mine", initializer=0.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    with tf.Session(target) as session:
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized value scope/w, n"):
            tf.train.export_variables(session, tmp_path / "m.npz")
        assert not list(tmp_path.iterdir())
        session.run(tf.global_variables_initializer())
        tf.train.export_variables(session, tmp_path / "m.npz")
    values = tf.train.load_values(tmp_path / "m.npz")
    assert {name: array.tolist() for name, array in values.items()} == {
        "scope/w": [[1, 2]],
        "n": 3,
    }


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("m.bin", {}, r"should end with one of \.safetensors, \.npz"),
        ("m.safetensors", {"t": np.array([b"x"], object)}, "safetensors has no string, which 't'"),
        ("m.npz", {"h": np.zeros(2, ml_dtypes.bfloat16)}, "numpy has no bfloat16, which 'h'"),
        ("m.npz", {"t": np.array([b"x\0"], object)}, "a string of 't' ends with a zero byte"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_and_the_old_file_stays(
    name: str, values: dict[str, Any], words: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(b"old")
    with pytest.raises(errors.InvalidArgumentError, match=words):
        tf.train.export_variables(values, tmp_path / name)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [(name, b"old")]
