"""The Open Inference Protocol, by the specification's examples and by numpy."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
import served_models

LENGTH = "Inference-Header-Content-Length"
NAMES = {"bool": "BOOL", "float16": "FP16", "float32": "FP32", "float64": "FP64"}


def infer(client: Any, model: str, inputs: list[Any], blob: bytes = b"", **more: Any) -> Any:
    """The answer to a request; with bytes after the JSON, if there are any."""
    body = json.dumps({"inputs": inputs, **more}).encode()
    headers = {LENGTH: str(len(body))} if blob else {}
    return client.post(f"/v2/models/{model}/infer", content=body + blob, headers=headers)


def tensor(name: str, datatype: str, shape: list[int], data: Any) -> dict[str, Any]:
    """An input in JSON."""
    return {"name": name, "datatype": datatype, "shape": shape, "data": data}


def binary(name: str, datatype: str, shape: list[int], size: int) -> dict[str, Any]:
    """An input after the JSON."""
    parameters = {"binary_data_size": size}
    return {"name": name, "datatype": datatype, "shape": shape, "parameters": parameters}


def parts(answer: Any) -> tuple[dict[str, Any], list[bytes]]:
    """The JSON of an answer, and the bytes of each of its outputs."""
    size = int(answer.headers[LENGTH])
    message, rest, found = json.loads(answer.content[:size]), answer.content[size:], []
    for output in message["outputs"]:
        count = output["parameters"]["binary_data_size"]
        found.append(rest[:count])
        rest = rest[count:]
    assert rest == b""
    return message, found


def test_the_server_is_live_and_ready_and_names_its_extensions(client: Any) -> None:
    assert client.get("/v2/health/live").status_code == 200
    assert client.get("/v2/health/ready").status_code == 200
    found = client.get("/v2").json()
    assert found["name"] == "graphio"
    assert "binary_tensor_data" in found["extensions"]


def test_a_model_has_names_types_and_shapes(client: Any) -> None:
    for path in ("/v2/models/sensors", "/v2/models/sensors/versions/1"):
        found = client.get(path).json()
        assert (found["name"], found["versions"]) == ("sensors", ["1"])
        assert found["inputs"] == [
            {"name": "tag", "datatype": "BYTES", "shape": [-1]},
            {"name": "signal", "datatype": "INT32", "shape": [-1, 5]},
            {"name": "sensor", "datatype": "FP32", "shape": [-1, 2, 2]},
        ]
        assert found["outputs"][1] == {"name": "total", "datatype": "INT32", "shape": [-1]}
        assert client.get(f"{path}/ready").json() == {"name": "sensors", "ready": True}
    named = client.get("/v2/models/echoes", params={"signature_name": "int8"}).json()
    assert named["inputs"][0]["datatype"] == "INT8"


def test_flat_and_nested_data_are_the_same_tensor(client: Any) -> None:
    x = np.random.default_rng(1).normal(size=(2, 4)).astype(np.float32)
    flat = infer(client, "layer", [tensor("x", "FP32", [2, 4], x.ravel().tolist())], id="42")
    nested = infer(client, "layer", [tensor("x", "FP32", [2, 4], x.tolist())], id="42")
    assert flat.json() == nested.json()
    found = flat.json()
    assert (found["model_name"], found["model_version"], found["id"]) == ("layer", "1", "42")
    (output,) = found["outputs"]
    assert (output["name"], output["datatype"], output["shape"]) == ("y", "FP32", [2, 3])
    expected = served_models.softmax(x)
    np.testing.assert_allclose(np.reshape(output["data"], [2, 3]), expected, rtol=1e-5)


def test_outputs_are_chosen_by_name_and_in_order(client: Any) -> None:
    inputs = [
        tensor("sensor", "FP32", [1, 2, 2], [1, 2, 3, 4]),
        tensor("tag", "BYTES", [1], ["a"]),
        tensor("signal", "INT32", [1, 5], [[1, 2, 3, 4, 5]]),
    ]
    chosen = [{"name": "total"}, {"name": "tag"}]
    found = infer(client, "sensors", inputs, outputs=chosen).json()["outputs"]
    assert [(o["name"], o["data"]) for o in found] == [("total", [15]), ("tag", ["a"])]


@pytest.mark.parametrize("name", served_models.NUMBERS)
def test_bytes_of_every_type_come_back(client: Any, name: str) -> None:
    array = np.random.default_rng(2).integers(0, 2, (2, 3)).astype(name)
    datatype = NAMES.get(name, name.upper())
    blob = array.astype(array.dtype.newbyteorder("<")).tobytes()
    inputs = [binary("x", datatype, [2, 3], len(blob))]
    parameters = {"signature_name": name, "binary_data_output": True}
    answer = infer(client, "echoes", inputs, blob, parameters=parameters)
    message, blobs = parts(answer)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert (message["outputs"][0]["datatype"], message["outputs"][0]["shape"]) == (datatype, [2, 3])
    assert blobs == [blob]
    asjson = infer(client, "echoes", inputs, blob, parameters={"signature_name": name}).json()
    assert np.array_equal(np.array(asjson["outputs"][0]["data"], name), array.ravel())


def test_strings_as_bytes_have_their_length_before_them(client: Any) -> None:
    strings = [b"\xff\x00", b"", "Grüße".encode()]
    blob = b"".join(struct.pack("<I", len(s)) + s for s in strings)
    inputs = [binary("x", "BYTES", [3], len(blob))]
    parameters = {"signature_name": "binary", "binary_data_output": True}
    _, blobs = parts(infer(client, "echoes", inputs, blob, parameters=parameters))
    assert blobs == [blob]
    in_json = infer(client, "echoes", inputs, blob, parameters={"signature_name": "binary"})
    assert (in_json.status_code, "not UTF-8" in in_json.json()["error"]) == (400, True)


def test_some_outputs_as_bytes_and_others_in_json(client: Any) -> None:
    outputs = [{"name": "y", "parameters": {"binary_data": False}}, {"name": "sum"}]
    answer = infer(
        client,
        "echoes",
        [tensor("x", "FP32", [2], [1.5, 2.5])],
        parameters={"signature_name": "uneven", "binary_data_output": True},
        outputs=outputs,
    )
    size = int(answer.headers[LENGTH])
    first, second = json.loads(answer.content[:size])["outputs"]
    assert first["data"] == [1.5, 2.5]
    assert second["parameters"] == {"binary_data_size": 4}
    assert np.frombuffer(answer.content[size:], "<f4").tolist() == [4.0]


def test_a_body_of_bytes_alone_is_the_only_input(client: Any) -> None:
    x = np.random.default_rng(3).normal(size=(5, 4)).astype("<f4")
    path = "/v2/models/layer/infer"
    answer = client.post(path, content=x.tobytes(), headers={LENGTH: "0"})
    message, (blob,) = parts(answer)
    assert message["outputs"][0]["shape"] == [5, 3]
    found = np.frombuffer(blob, "<f4").reshape(5, 3)
    np.testing.assert_allclose(found, served_models.softmax(x), rtol=1e-5)


GOOD = tensor("x", "FP32", [1, 4], [1, 2, 3, 4])
ECHO = {"parameters": {"signature_name": "uint8"}}
#: model, inputs, other fields, status, a part of the message
REFUSED: list[tuple[str, Any, dict[str, Any], int, str]] = [
    ("layer", [], {}, 400, "misses x"),
    ("layer", {}, {}, 400, "'inputs' is {}, expected a list of objects"),
    ("layer", [1], {}, 400, "expected a list of objects"),
    ("layer", [GOOD, GOOD], {}, 400, "given twice"),
    ("layer", [{**GOOD, "name": "y"}], {}, 400, "has no input 'y'"),
    ("layer", [{**GOOD, "name": 1}], {}, 400, "'name' is 1, expected a string"),
    ("layer", [{**GOOD, "datatype": "FP64"}], {}, 400, 'datatype "FP64", expected FP32'),
    ("layer", [{**GOOD, "shape": [4]}], {}, 400, "has shape [4], expected [?,4]"),
    ("layer", [{**GOOD, "shape": [-1, 4]}], {}, 400, "expected a list of sizes"),
    ("layer", [{**GOOD, "shape": [True, 4]}], {}, 400, "expected a list of sizes"),
    ("layer", [{**GOOD, "shape": [1] * 100}], {}, 400, "expected a list of sizes"),
    ("layer", [{**GOOD, "shape": [2**40, 2**40, 0]}], {}, 400, "which no tensor has"),
    ("layer", [{**GOOD, "shape": [2, 4]}], {}, 400, "'data' has shape [4], expected [2, 4]"),
    ("layer", [{**GOOD, "data": [[1, 2], [3, 4]]}], {}, 400, "'data' has shape [2, 2]"),
    ("layer", [{**GOOD, "data": "1"}], {}, 400, "no list 'data'"),
    ("layer", [{**GOOD, "data": ["1", 2, 3, 4]}], {}, 400, "not of expected type: float32"),
    ("layer", [{**GOOD, "parameters": []}], {}, 400, "'parameters' is [], expected an object"),
    ("layer", [GOOD], {"id": 3}, 400, "'id' is 3, expected a string"),
    ("layer", [GOOD], {"outputs": [{"name": "z"}]}, 400, 'has no output "z"; its outputs are y'),
    ("layer", [GOOD], {"outputs": [{}]}, 400, "has no output null"),
    ("layer", [binary("x", "FP32", [1, 4], 16)], {}, 400, "0 bytes are there"),
    ("layer", [binary("x", "FP32", [1, 4], -1)], {}, 400, "binary_data_size is -1"),
    ("layer", [GOOD], {"parameters": {"binary_data_output": 1}}, 400, "expected true or false"),
    ("layer", [GOOD], {"parameters": {"signature_name": "no"}}, 400, '"no" not found'),
    ("echoes", [tensor("x", "UINT8", [1], [256])], ECHO, 400, "out of range for uint8"),
    ("none", [GOOD], {}, 404, "this server has half, sensors, echoes, layer"),
    ("layer/versions/3", [GOOD], {}, 404, "Specific(layer, 3)"),
    ("layer/versions/latest", [GOOD], {}, 404, "no version 'latest'"),
]


@pytest.mark.parametrize(("model", "inputs", "more", "status", "message"), REFUSED)
def test_a_wrong_request_is_refused_with_a_reason(
    client: Any, model: str, inputs: Any, more: dict[str, Any], status: int, message: str
) -> None:
    answer = infer(client, model, inputs, **more)
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert message in answer.json()["error"]


@pytest.mark.parametrize(
    ("declared", "blob", "message"),
    [
        (16, bytes(16) + b"x", "1 bytes follow those of the inputs"),
        (12, bytes(12), "has 12 bytes, expected 16"),
        (17, bytes(16), "16 bytes are there"),
    ],
)
def test_bytes_of_another_number_are_refused(
    client: Any, declared: int, blob: bytes, message: str
) -> None:
    answer = infer(client, "layer", [binary("x", "FP32", [1, 4], declared)], blob)
    assert (answer.status_code, message in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    ("datatype", "blob", "message"),
    [
        ("BYTES", b"\x01\x00", "too few for a length"),
        ("BYTES", b"\xff\xff\xff\xff", "a string of 4294967295 bytes"),
        ("BYTES", bytes(8), "has 2 strings, expected 1"),
        ("BOOL", b"\x02", "neither 0 nor 1"),
    ],
)
def test_damaged_bytes_are_refused(client: Any, datatype: str, blob: bytes, message: str) -> None:
    signature = {"BYTES": "string", "BOOL": "bool"}[datatype]
    inputs = [binary("x", datatype, [1], len(blob))]
    answer = infer(client, "echoes", inputs, blob, parameters={"signature_name": signature})
    assert (answer.status_code, message in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize("header", ["-1", "x", "1e3", "99999", "9" * 30])
def test_a_wrong_length_of_the_json_is_refused(client: Any, header: str) -> None:
    answer = client.post("/v2/models/layer/infer", content=b"{}", headers={LENGTH: header})
    assert (answer.status_code, LENGTH in answer.json()["error"]) == (400, True)
