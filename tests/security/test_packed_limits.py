"""S17: small packed files do not become large arrays unless the caller says so."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from foreign_files import bounded
from growing_files import torch_pickle
from onnx import TensorProto, helper

import graphio as tf
from graphio.data import npz
from graphio.schema import packed
from graphio.support import errors
from graphio.train.interop import zip_file

MEGA = 1 << 20


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lowers the size that any file may unpack to, which is 256 MB."""
    monkeypatch.setattr(packed, "FREE", MEGA)


def zeros(path: Path, megabytes: int) -> Path:
    np.savez_compressed(path, x=np.zeros(megabytes * MEGA // 4, np.float32))
    return path


def torch_zeros(path: Path, megabytes: int, tensors: int = 1) -> Path:
    """A file of torch.save's whose only storage is packed."""
    count = megabytes * MEGA // 4
    pickle = torch_pickle([(f"x{i}", 0) for i in range(tensors)], [count])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", pickle)
        archive.writestr("a/data/0", bytes(4 * count))
    return path


def test_two_gigabytes_of_two_megabytes_are_refused_before_memory_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    piece = bytes(16 * MEGA)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for i in range(20):
            archive.writestr(f"x{i}.npy", piece)
    with bounded(5), pytest.raises(errors.ResourceExhaustedError, match="unpacked=335544320"):
        tf.train.load_values(path)


def test_what_is_packed_as_usual_is_read_without_a_word(tmp_path: Path) -> None:
    assert tf.train.load_values(zeros(tmp_path / "m.npz", 8))["x"].nbytes == 8 * MEGA


def test_a_caller_may_allow_more(little: None, tmp_path: Path) -> None:
    path = zeros(tmp_path / "m.npz", 4)
    with pytest.raises(errors.ResourceExhaustedError):
        tf.train.load_values(path)
    assert not tf.train.load_values(path, unpacked=5 * MEGA)["x"].any()
    with pytest.raises(errors.ResourceExhaustedError, match="at most 3145728 are taken"):
        tf.train.load_values(path, unpacked=3 * MEGA)


def test_a_restore_refuses_it_and_takes_what_was_opened_with_a_limit(
    little: None, tmp_path: Path
) -> None:
    path = zeros(tmp_path / "m.npz", 2)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.Variable(tf.ones([MEGA // 2]), name="x")
        saver = tf.train.Saver()
        with pytest.raises(errors.ResourceExhaustedError, match="load_values"):
            saver.restore(session, path)
        saver.restore(session, tf.train.load_values(path, unpacked=3 * MEGA))
        assert not session.run(x).any()


def test_a_packed_file_of_torch_has_the_same_limit(little: None, tmp_path: Path) -> None:
    path = torch_zeros(tmp_path / "m.pt", 2)
    with pytest.raises(errors.ResourceExhaustedError, match="unpacks to"):
        tf.train.load_values(path)
    assert not tf.train.load_values(path, unpacked=3 * MEGA)["x0"].any()


def test_a_storage_that_many_tensors_share_is_unpacked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[str] = []
    plain = zip_file.ZipFile._unpacked

    def noted(archive: zip_file.ZipFile, member: zip_file.Member, limit: int) -> bytes:
        unpacked.append(member.name)
        return plain(archive, member, limit)

    values = tf.train.load_values(torch_zeros(tmp_path / "m.pt", 1, tensors=9))
    monkeypatch.setattr(zip_file.ZipFile, "_unpacked", noted)
    assert sum(values[f"x{i}"].size for i in range(9)) == 9
    assert unpacked == ["a/data/0"]


def test_the_files_of_an_index_have_the_limit_each(little: None, tmp_path: Path) -> None:
    torch_zeros(tmp_path / "one.bin", 2)
    index = tmp_path / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"weight_map": {"x0": "one.bin"}}))
    with pytest.raises(errors.ResourceExhaustedError, match="one.bin"):
        tf.train.load_values(tmp_path)
    assert not tf.train.load_values(tmp_path, unpacked=3 * MEGA)["x0"].any()


def test_a_pipeline_refuses_a_packed_file_that_becomes_too_much(
    little: None, tmp_path: Path
) -> None:
    with pytest.raises(errors.ResourceExhaustedError, match=r"numpy\.savez"):
        npz.arrays(str(zeros(tmp_path / "m.npz", 2)))


@pytest.mark.parametrize("unpacked", [True, "2 GB", 1.5])
def test_a_limit_that_is_no_number_of_bytes_is_refused(unpacked: object, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="number of bytes"):
        tf.train.load_values(zeros(tmp_path / "m.npz", 1), unpacked=unpacked)  # type: ignore[arg-type]


def test_tensors_of_onnx_do_not_make_many_arrays_of_one_external_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(4000))
    weights = []
    for i in range(20):
        weight = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[1000])
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="data")
        weights.append(weight)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1000])
    node = helper.make_node("Sum", [w.name for w in weights], ["y"])
    graph = helper.make_graph([node], "g", [], [y], initializer=weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with tf.Graph().as_default():
        with pytest.raises(errors.InvalidArgumentError, match="more than 16 times as many"):
            tf.onnx.import_model(tmp_path / "m.onnx")
    del weights[16:], node.input[16:]
    graph = helper.make_graph([node], "g", [], [y], initializer=weights)
    onnx.save(helper.make_model(graph, ir_version=10), tmp_path / "m.onnx")
    with tf.Graph().as_default():
        assert tf.onnx.import_model(tmp_path / "m.onnx").outputs["y"].shape == [1000]
