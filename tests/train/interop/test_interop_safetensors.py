"""Broken and malicious safetensors files and indexes of models are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from foreign_files import nothing_runs

import graphio as tf
from graphio.support import errors
from graphio.train.interop.sources import open_source


def header(text: str | bytes, data: bytes = b"") -> bytes:
    """A safetensors file of a header and bytes."""
    raw = text.encode() if isinstance(text, str) else text
    return len(raw).to_bytes(8, "little") + raw + data


def row(name: str = "a", kind: str = "U8", shape: Any = (1,), offsets: Any = (0, 1)) -> str:
    """A tensor's line of the header."""
    value = {"dtype": kind, "shape": shape, "data_offsets": offsets}
    return f"{json.dumps(name)}:{json.dumps(value)}"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (header("{}")[:7], "none of .safetensors"),
        ((1 << 63).to_bytes(8, "little") + b"{}", "at most 100000000"),
        ((99).to_bytes(8, "little") + b"{}", "2 follow"),
        (header("{"), "JSON is broken"),
        (header("{} x"), "JSON is broken"),
        (header('{"a":' + "[" * 50_000 + "}"), "JSON is broken"),
        (header(b'{"\xff":1}'), "JSON is broken"),
        (header('{"a":NaN}'), "JSON is broken"),
        (header('{"a":' + "9" * 5000 + "}"), "JSON is broken"),
        (header("{" + row("\ud800") + "}", b"x"), "JSON is broken"),
        (header("{" + row() + "," + row() + "}", b"x"), "twice"),
        (
            header('{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x"),
            "twice",
        ),
        (header('{"a":{"dtype":"U8","shape":[1]}}', b"x"), "lacks one of"),
        (header('{"a":1}', b"x"), "lacks one of"),
        (header("{" + row(shape=[-1]) + "}", b"x"), "of another type"),
        (header("{" + row(shape=[True]) + "}", b"x"), "of another type"),
        (header("{" + row(shape=[1.0]) + "}", b"x"), "of another type"),
        (header("{" + row(shape="1") + "}", b"x"), "of another type"),
        (header("{" + row(offsets=[1, 0]) + "}", b"x"), "has the data_offsets"),
        (header("{" + row(offsets=[0, 1, 1]) + "}", b"x"), "has the data_offsets"),
        (header("{" + row(shape=[2]) + "}", b"x"), "has 1 bytes"),
        (header("{" + row(kind="F32") + "}", b"x"), "has 1 bytes"),
        (header("{" + row(shape=[1 << 40, 1 << 40]) + "}", b"x"), "impossible"),
        (header("{" + row(shape=[1] * 17) + "}", b"x"), "rank 17"),
        (header("{" + row() + "}", b"xy"), "end at 1, 2 bytes"),
        (header("{" + row() + "}"), "end at 1, 0 bytes"),
        (header("{" + row() + "," + row("b") + "}", b"x"), "overlaps"),
        (header("{" + row() + "," + row("b", offsets=[2, 3]) + "}", b"xyz"), "after a gap"),
        (header('{"__metadata__":{"a":1}}'), "__metadata__ is not a map"),
        (header('{"__metadata__":[]}'), "__metadata__ is not a map"),
    ],
)
def test_a_broken_safetensors_file_is_refused(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(data)
    with nothing_runs(tmp_path), pytest.raises(errors.OpError, match=words):
        open_source(path)


@pytest.mark.parametrize(
    "name", ["../m.safetensors", "/etc/passwd", "a/m.safetensors", "..", "", ".hidden", "a\0b", 1]
)
def test_an_index_leads_to_no_file_outside_its_folder(name: Any, tmp_path: Path) -> None:
    inside = tmp_path / "model"
    inside.mkdir()
    tf.train.export_variables({"a": [1.0]}, tmp_path / "m.safetensors")
    index = inside / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": name}}))
    with nothing_runs(inside), pytest.raises(errors.DataLossError, match="not a plain file name"):
        open_source(index)


@pytest.mark.parametrize("text", ["[]", "1", "null", "", "{}", '{"weight_map": 1}'])
def test_an_index_that_is_no_index_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "m.index.json").write_text(text)
    with pytest.raises(errors.DataLossError, match="JSON is broken|has no weight_map"):
        open_source(tmp_path / "m.index.json")


@pytest.mark.parametrize(
    ("weight_map", "kind", "words"),
    [
        (dict.fromkeys("abz", "m.safetensors"), errors.DataLossError, "lacks 'z'"),
        ({"a": "m.safetensors"}, errors.DataLossError, "has 'b', the index does not say so"),
        ({"a": "x.safetensors"}, errors.NotFoundError, "'.*x.safetensors', which its index names"),
        ([], errors.DataLossError, "has no weight_map"),
    ],
)
def test_an_index_that_does_not_agree_with_its_files_is_refused(
    weight_map: Any, kind: type[Exception], words: str, tmp_path: Path
) -> None:
    tf.train.export_variables({"a": [1.0], "b": [2.0]}, tmp_path / "m.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(kind, match=words):
        open_source(index)


def test_a_variable_of_the_reserved_name_is_not_exported(tmp_path: Path) -> None:
    values = {"__metadata__": [1.0]}
    with pytest.raises(errors.InvalidArgumentError, match="keeps the name '__metadata__'.*npz"):
        tf.train.export_variables(values, tmp_path / "m.safetensors")
    assert list(tmp_path.iterdir()) == []
    tf.train.export_variables(values, tmp_path / "m.npz")
