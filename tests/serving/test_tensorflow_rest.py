"""TensorFlow Serving's REST API, by the examples of its documentation and by numpy."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import Any

import numpy as np
import pytest
import served_models

HALF = "/v1/models/half"


def post(client: Any, path: str, body: Any) -> Any:
    """The answer to a request; a body that is not text is sent as JSON, NaN among it."""
    return client.post(path, content=body if isinstance(body, str) else json.dumps(body))


def test_the_status_is_the_documentations(client: Any) -> None:
    expected = {"error_code": "OK", "error_message": ""}
    versions = [{"version": "1", "state": "AVAILABLE", "status": expected}]
    for path in (HALF, f"{HALF}/versions/1"):
        assert client.get(path).json() == {"model_version_status": versions}


def test_the_metadata_have_tensorflows_names_of_types_and_methods(client: Any) -> None:
    found = client.get(f"{HALF}/metadata").json()
    assert found["model_spec"] == {"name": "half", "signature_name": "", "version": "1"}
    signatures = found["metadata"]["signature_def"]["signature_def"]
    assert signatures["serving_default"] == {
        "inputs": {
            "x": {
                "dtype": "DT_FLOAT",
                "tensor_shape": {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False},
                "name": "plain:0",
            }
        },
        "outputs": {
            "y": {
                "dtype": "DT_FLOAT",
                "tensor_shape": {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False},
                "name": signatures["serving_default"]["outputs"]["y"]["name"],
            }
        },
        "method_name": "tensorflow/serving/predict",
        "defaults": {},
    }
    regress = signatures["regress_records"]
    assert regress["method_name"] == "tensorflow/serving/regress"
    assert regress["inputs"]["inputs"]["dtype"] == "DT_STRING"


def test_predict_is_the_documentations(client: Any) -> None:
    answer = post(client, f"{HALF}:predict", '{"instances": [1.0,2.0,5.0]}')
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {"predictions": [3.5, 4.0, 5.5]}
    versioned = post(client, f"{HALF}/versions/1:predict", '{"inputs": [1.0,2.0,5.0]}')
    assert versioned.json() == {"outputs": [3.5, 4.0, 5.5]}


def test_regress_is_the_documentations(client: Any) -> None:
    body = '{"signature_name": "tensorflow/serving/regress", "examples": [{"x": 1.0}, {"x": 2.0}]}'
    assert post(client, f"{HALF}:regress", body).json() == {"results": [3.5, 4.0]}


@pytest.mark.parametrize("signature", ["tensorflow/serving/regress", "regress_records"])
def test_features_of_the_context_are_in_every_example(client: Any, signature: str) -> None:
    body = {"signature_name": signature, "context": {"x": 4.0}}
    body["examples"] = [{}, {"y": ["other"]}, {"x": [6.0]}]
    assert post(client, f"{HALF}:regress", body).json() == {"results": [5.0, 5.0, 6.0]}


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("classify_x", [[["low", -3.5], ["high", 3.5]], [["low", -4.0], ["high", 4.0]]]),
        ("labels", [[["low", 0.0], ["high", 0.0]]] * 2),
        ("scores", [[["", -3.5], ["", 3.5]], [["", -4.0], ["", 4.0]]]),
    ],
)
def test_classify_gives_pairs_of_label_and_score(
    client: Any, signature: str, expected: list[Any]
) -> None:
    body = {"signature_name": signature, "examples": [{"x": 1.0}, {"x": 2.0}]}
    assert post(client, f"{HALF}:classify", body).json() == {"results": expected}


ROWS = [
    {"tag": "foo", "signal": [1, 2, 3, 4, 5], "sensor": [[1, 2], [3, 4]]},
    {"tag": "bar", "signal": [3, 4, 1, 2, 5], "sensor": [[4, 5], [6, 8]]},
]


def test_rows_with_named_inputs_give_rows_with_named_outputs(client: Any) -> None:
    found = post(client, "/v1/models/sensors:predict", {"instances": ROWS}).json()
    assert found == {
        "predictions": [
            {"tag": "foo", "total": 15, "twice": [[2.0, 4.0], [6.0, 8.0]]},
            {"tag": "bar", "total": 15, "twice": [[8.0, 10.0], [12.0, 16.0]]},
        ]
    }


def test_columns_with_named_inputs_give_named_columns(client: Any) -> None:
    columns = {key: [row[key] for row in ROWS] for key in ROWS[0]}
    found = post(client, "/v1/models/sensors:predict", {"inputs": columns}).json()
    twice = (np.array(columns["sensor"]) * 2.0).tolist()
    assert found == {"outputs": {"tag": ["foo", "bar"], "total": [15, 15], "twice": twice}}


def test_one_input_may_be_named_in_rows_and_columns(client: Any) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4)).round(3)
    named = post(client, "/v1/models/layer:predict", {"instances": [{"x": r} for r in x.tolist()]})
    alone = post(client, "/v1/models/layer:predict", {"instances": x.tolist()})
    columns = post(client, "/v1/models/layer:predict", {"inputs": {"x": x.tolist()}})
    assert named.content == alone.content
    assert columns.json()["outputs"] == alone.json()["predictions"]
    np.testing.assert_allclose(alone.json()["predictions"], served_models.softmax(x), rtol=1e-5)


EXTREMES = {"bool": [True, False], "float16": [0.1, -65504.0], "float64": [0.1, 1e300, -5e-324]}


@pytest.mark.parametrize("name", served_models.NUMBERS)
def test_numbers_of_every_type_come_back_with_the_same_bits(client: Any, name: str) -> None:
    dtype = np.dtype(name)
    if dtype.kind in "iu":
        values = [np.iinfo(dtype).min, 0, np.iinfo(dtype).max]
    else:
        values = EXTREMES.get(name, [0.1, 1 / 3, 16777217.0, 3.4e38, 1e-45, -0.0])
    answer = post(client, "/v1/models/echoes:predict", {"signature_name": name, "inputs": values})
    found = np.array(answer.json()["outputs"], dtype)
    assert found.tobytes() == np.array(values, dtype).tobytes()


def test_float32_is_written_as_short_as_tensorflow_serving_writes_it(client: Any) -> None:
    numbers = [0.2, 4.0, 1 / 3, 9e6, 3e-5, 1435774380]
    body = {"signature_name": "float32", "inputs": numbers}
    text = post(client, "/v1/models/echoes:predict", body).text
    assert text == '{"outputs": [0.2,4.0,0.333333343,9e+06,3e-05,1.43577434e+09]}'


def test_tokens_that_are_not_json_are_numbers_in_both_directions(client: Any) -> None:
    for name in ("float32", "float64", "float16"):
        body = f'{{"signature_name": "{name}", "inputs": [NaN, Infinity, -Infinity, 1.0]}}'
        answer = post(client, "/v1/models/echoes:predict", body)
        assert answer.text == '{"outputs": [NaN,Infinity,-Infinity,1.0]}'


def test_a_number_too_large_for_float32_is_infinite(client: Any) -> None:
    body = {"signature_name": "float32", "inputs": [1e300, -1e300]}
    answer = post(client, "/v1/models/echoes:predict", body)
    assert answer.text == '{"outputs": [Infinity,-Infinity]}'


def test_strings_are_utf_8_and_bytes_are_base64(client: Any) -> None:
    values: list[Any] = ["Grüße", {"b64": base64.b64encode(b"\xff\x00").decode()}, ""]
    body = {"signature_name": "binary", "instances": values}
    found = post(client, "/v1/models/echoes:predict", body).json()["predictions"]
    assert [base64.b64decode(v["b64"]) for v in found] == ["Grüße".encode(), b"\xff\x00", b""]
    body = {"signature_name": "string", "inputs": {"b64": "_w"}}  # URL's alphabet, no padding
    assert post(client, "/v1/models/echoes:predict", body).json() == {"outputs": {"b64": "/w=="}}
    body = {"signature_name": "string", "inputs": ['a"\u2028\n']}
    assert post(client, "/v1/models/echoes:predict", body).json() == {"outputs": ['a"\u2028\n']}


def test_scalars_and_empty_tensors_have_a_form_in_columns(client: Any) -> None:
    for name, value in (("int32", 3), ("float32", []), ("int64", [[], []]), ("float32", [[[]]])):
        body = {"signature_name": name, "inputs": value}
        assert post(client, "/v1/models/echoes:predict", body).json() == {"outputs": value}


RECORDS = {"signature_name": "regress_records"}
#: path, body, status, a part of the message
REFUSED: list[tuple[str, Any, int, str]] = [
    ("half:predict", "", 400, "The document is empty"),
    ("half:predict", "[1", 400, "JSON Parse error"),
    ("half:predict", "[1]", 400, "Is not object"),
    ("half:predict", b"\xff".decode("latin-1"), 400, "JSON Parse error"),
    ("half:predict", "[" * 100000, 400, "nested too deep"),
    ("half:predict", '{"instances": ' + "1" * 5000 + "}", 400, "JSON Parse error"),
    ("half:predict", {}, 400, "Missing 'inputs' or 'instances' key"),
    ("half:predict", {"inputs": [1.0], "instances": [1.0]}, 400, "expecting only one of"),
    ("half:predict", {"instances": 1.0}, 400, "Expecting 'instances' to be an list/array"),
    ("half:predict", {"instances": []}, 400, "No values in 'instances' array"),
    ("half:predict", {"instances": [1.0, [2.0]]}, 400, "input 'x'"),
    ("half:predict", {"instances": [[1.0], [2.0, 3.0]]}, 400, "lists at level 1 have sizes 1, 2"),
    ("half:predict", {"instances": [1.0, True]}, 400, "true is not of expected type: float32"),
    ("half:predict", {"instances": ["1.0"]}, 400, "is not of expected type: float32"),
    ("half:predict", {"instances": [None]}, 400, "null is not of expected type: float32"),
    ("half:predict", {"instances": [{"x": 1.0}, 2.0]}, 400, "Expecting object but got value"),
    ("half:predict", {"instances": [{"y": 1.0}]}, 400, "keys must be equal to: x"),
    ("half:predict", {"instances": [[1.0, 2.0]]}, 400, "has shape [1,2], expected [?]"),
    ("half:predict", {"inputs": {"y": 1.0}}, 400, "Missing named input: x"),
    ("half:predict", {"inputs": {"x": [1.0], "y": 2.0}}, 400, "has no input 'y'"),
    ("half:predict", {"signature_name": "no", "inputs": 1.0}, 400, '"no" not found in signature'),
    ("half:predict", {"signature_name": 3, "inputs": 1.0}, 400, "must be a string value"),
    ("echoes:predict", {"inputs": 1.0}, 400, '"serving_default" not found'),
    ("echoes:predict", {"signature_name": "int8", "inputs": 300}, 400, "out of range for int8"),
    ("echoes:predict", {"signature_name": "uint8", "inputs": -1}, 400, "out of range for uint8"),
    ("echoes:predict", {"signature_name": "int32", "inputs": 1.5}, 400, "(integers)"),
    ("echoes:predict", {"signature_name": "bool", "inputs": 1}, 400, "(true or false)"),
    ("echoes:predict", {"signature_name": "string", "inputs": 1}, 400, "(strings)"),
    ("echoes:predict", {"signature_name": "string", "inputs": [{"a": "b"}]}, 400, "for base64"),
    ("echoes:predict", {"signature_name": "string", "inputs": {"b64": "*"}}, 400, "base64 decode"),
    ("echoes:predict", '{"signature_name": "string", "inputs": "\\ud800"}', 400, "surrogate"),
    ("echoes:predict", {"signature_name": "complex64", "inputs": 1.0}, 501, "no form in JSON"),
    ("echoes:predict", {"signature_name": "uneven", "instances": [1.0, 2.0]}, 400, "batch size"),
    ("echoes:predict", {"signature_name": "scalar", "instances": [1.0]}, 400, "no rows"),
    ("sensors:predict", {"instances": [1, 2]}, 400, "instances is a plain list"),
    ("sensors:predict", {"inputs": [1, 2]}, 400, "inputs is a plain value/list"),
    ("half:regress", {"examples": [{"x": 1.0}]}, 400, "method_name to be tensorflow/serving/regr"),
    ("half:classify", {"signature_name": "labels"}, 400, "key 'examples' is expected"),
    ("half:classify", {"signature_name": "labels", "examples": {}}, 400, "to be an list/array"),
    ("half:classify", {"signature_name": "labels", "examples": []}, 400, "is an empty array"),
    ("half:classify", {"signature_name": "labels", "examples": [1]}, 400, "must be JSON object"),
    ("half:classify", {"signature_name": "labels", "examples": [{"x": "a"}]}, 400, "Feature: x"),
    ("half:classify", {"signature_name": "labels", "examples": [{"x": [[1.0]]}]}, 400, "nested"),
    ("half:classify", {"signature_name": "labels", "examples": [{"x": [1, 2]}]}, 400, "[1,2]"),
    ("half:classify", {"signature_name": "labels", "examples": [{}]}, 400, "could not be found"),
    ("half:regress", {**RECORDS, "examples": [{"x": None}]}, 400, "unexpected JSON type: null"),
    ("half:regress", {**RECORDS, "examples": [{"x": [1, 2.0]}]}, 400, "float and int64"),
    ("half:regress", {**RECORDS, "examples": [{"x": 2**63}]}, 400, "an int64"),
    ("half:regress", {**RECORDS, "examples": [{"\ud800": 1.0}]}, 400, "surrogate"),
    ("none:predict", {"instances": [1.0]}, 404, "Servable not found for request: Latest(none)"),
    ("half/versions/2:predict", {"inputs": 1.0}, 404, "request: Specific(half, 2)"),
    ("half/versions/9999999999999999999:predict", {"inputs": 1.0}, 400, "to numeric"),
    ("half/labels/stable:predict", {"inputs": 1.0}, 400, "version label: stable"),
    ("half:train", {"inputs": 1.0}, 400, "Malformed request: POST /v1/models/half:train"),
]


@pytest.mark.parametrize(("path", "body", "status", "message"), REFUSED)
def test_a_wrong_request_is_refused_with_a_reason(
    client: Any, path: str, body: Any, status: int, message: str
) -> None:
    answer = post(client, f"/v1/models/{path}", body)
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert message in answer.json()["error"]
    assert len(answer.json()["error"]) < 1000


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/v1/models/none", 404, "Servable not found"),
        ("/v1/models/half/versions/7", 404, "Could not find version 7 of model half"),
        ("/v1/models/half/versions/x", 400, "Malformed request: GET"),
        ("/v1/models", 400, "Malformed request: GET"),
        ("/v3", 404, "Not Found: GET /v3"),
    ],
)
def test_a_wrong_path_is_refused_with_a_reason(
    client: Any, path: str, status: int, message: str
) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert message in answer.json()["error"]


def test_another_method_is_refused(client: Any) -> None:
    answer = client.delete("/v1/models/half")
    assert answer.status_code == 405
    assert "error" in answer.json()


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)],
)
def test_a_compressed_body_is_read(client: Any, encoding: str, packed: Any) -> None:
    body, headers = b'{"instances": [1.0]}', {"Content-Encoding": encoding}
    answer = client.post(f"{HALF}:predict", content=packed(body), headers=headers)
    assert answer.json() == {"predictions": [3.5]}


@pytest.mark.parametrize(
    ("encoding", "body", "status", "message"),
    [
        ("br", b"", 400, "expected none or one of gzip"),
        ("gzip", b'{"instances": [1.0]}', 400, "is not gzip"),
        ("gzip", gzip.compress(b"{}")[:-5], 400, "ends too early"),
        ("gzip", gzip.compress(b"{}") * 2, 400, "goes on after its end"),
        ("gzip", gzip.compress(bytes(65 << 20), 1), 413, "more than 67108864 bytes"),
    ],
)
def test_a_compressed_body_that_cannot_be_read_is_refused(
    client: Any, encoding: str, body: bytes, status: int, message: str
) -> None:
    headers = {"Content-Encoding": encoding}
    answer = client.post(f"{HALF}:predict", content=body, headers=headers)
    assert (answer.status_code, message in answer.json()["error"]) == (status, True)
