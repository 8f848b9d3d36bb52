"""Folders of numbered versions, models of other formats, requests that share a run."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import served_models
from onnx import TensorProto, helper

from graphio import cinfer
from graphio.serving import frozen, names, settings
from graphio.serving.batches import Batches, by_rows
from graphio.serving.catalog import Catalog
from graphio.serving.runs import Runner, Worker
from graphio.serving.servable import Servable
from graphio.serving.versions import Versions
from graphio.support import errors


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Versions of a model by number; what it adds is the number."""
    folder = tmp_path_factory.mktemp("saved")
    return {n: served_models.half_plus_three(folder / str(n), float(n)) for n in (1, 2, 10)}


def versions(path: Path, **options: Any) -> Versions:
    """The versions of a folder, as they are now."""
    made = Versions("half", settings.of({"half": str(path)}, options))
    made.update()
    return made


def copied(source: Path, target: Path) -> None:
    """A version that comes at once, as one that is renamed does."""
    shutil.copytree(source, target.with_name(f"{target.name}.part"))
    target.with_name(f"{target.name}.part").rename(target)


def added(servable: Servable) -> float:
    """The number that the model adds."""
    zero = {"x": np.zeros(1, np.float32)}
    return float(asyncio.run(servable.entry().run(zero))["y"][0])


def states(found: Versions) -> dict[int, str]:
    return {number: status.state for number, status in found.status.items()}


def test_the_newest_version_is_served_by_number_not_by_name(
    saved: dict[int, Path], tmp_path: Path
) -> None:
    for number in (2, 10):
        copied(saved[number], tmp_path / str(number))
    found = versions(tmp_path)
    assert found.watched
    assert found.available == [10]
    assert added(found.get()) == 10.0
    with pytest.raises(errors.NotFoundError, match=r"Specific\(half, 2\)"):
        found.get(2)


def test_a_new_version_takes_over_and_the_old_one_ends(
    saved: dict[int, Path], tmp_path: Path
) -> None:
    copied(saved[1], tmp_path / "1")
    found = versions(tmp_path)
    before = found.get()
    copied(saved[2], tmp_path / "2")
    found.update()
    assert (added(found.get()), added(before)) == (2.0, 1.0)  # a request that runs goes on
    assert states(found) == {1: "END", 2: "AVAILABLE"}
    shutil.rmtree(tmp_path / "2")
    found.update()
    assert states(found) == {1: "AVAILABLE", 2: "END"}
    assert added(found.get()) == 1.0


def test_several_versions_are_kept_on_request(saved: dict[int, Path], tmp_path: Path) -> None:
    for number, path in saved.items():
        copied(path, tmp_path / str(number))
    assert versions(tmp_path, keep=2).available == [2, 10]
    every = versions(tmp_path, keep=0)
    assert [added(every.get(n)) for n in every.available] == [1.0, 2.0, 10.0]


def test_a_damaged_version_leaves_the_old_one_and_is_opened_when_it_is_repaired(
    saved: dict[int, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copied(saved[1], tmp_path / "1")
    found = versions(tmp_path)
    data = (saved[2] / "saved_model.gio").read_bytes()
    (tmp_path / "2.gio").write_bytes(data[: len(data) // 2])
    found.update()
    found.update()
    assert states(found) == {1: "AVAILABLE", 2: "END"}
    assert (found.status[2].code, added(found.get())) == (errors.DATA_LOSS, 1.0)
    assert caplog.text.count("was not opened") == 1  # not once for every look
    (tmp_path / "2.gio").write_bytes(data)
    found.update()
    assert states(found) == {1: "END", 2: "AVAILABLE"}


def test_names_that_are_not_versions_are_left_alone(saved: dict[int, Path], tmp_path: Path) -> None:
    copied(saved[1], tmp_path / "7")
    for name in ("notes", "-3", "1.part", "٣", "9" * 30):
        (tmp_path / name).mkdir()
    found = versions(tmp_path)
    assert (found.available, list(found.status)) == ([7], [7])


def test_a_folder_without_versions_waits_for_one(
    saved: dict[int, Path], tmp_path: Path, connect: Callable[..., Any]
) -> None:
    client = connect({"half": str(tmp_path)}, poll=0.02)
    assert client.get("/v2/health/ready").status_code == 503
    assert client.get("/v2/models/half/ready").status_code == 503
    assert client.get("/v1/models/half").status_code == 404
    missing = client.post("/v1/models/half:predict", json={"inputs": [1.0]})
    assert missing.json() == {"error": "Servable not found for request: Latest(half)"}
    copied(saved[2], tmp_path / "2")
    end = time.monotonic() + 30
    while client.get("/v2/health/ready").status_code != 200 and time.monotonic() < end:
        time.sleep(0.01)
    answer = client.post("/v1/models/half/versions/2:predict", json={"inputs": [2.0]})
    assert answer.json() == {"outputs": [3.0]}
    assert 'graphio_model_version{model="half"} 2.0' in client.get("/metrics").text


def onnx_model(path: Path) -> Path:
    """|x|."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Abs", ["x"], ["y"])],
        "abs",
        [value("x", TensorProto.FLOAT, ["n"])],
        [value("y", TensorProto.FLOAT, ["n"])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path.write_bytes(model.SerializeToString())
    return path


def test_an_onnx_file_is_served(tmp_path: Path, connect: Callable[..., Any]) -> None:
    client = connect(str(onnx_model(tmp_path / "abs.onnx")))
    answer = client.post("/v1/models/abs:predict", json={"instances": [-1.5, 2.0]})
    assert answer.json() == {"predictions": [1.5, 2.0]}


def test_the_runtime_serves_as_well(folder: Path, connect: Callable[..., Any]) -> None:
    client = connect(str(folder / "layer.gio"), target="runtime")
    x = np.eye(4).tolist()
    found = client.post("/v1/models/layer:predict", json={"instances": x}).json()["predictions"]
    np.testing.assert_allclose(found, served_models.softmax(np.eye(4)), rtol=1e-5)


class Counted(Runner):
    """A runner that notes how many rows each run had."""

    rows: list[int]

    async def run(self, inputs: Any) -> Any:
        self.rows = [*getattr(self, "rows", []), len(inputs[0])]
        return await super().run(inputs)


@pytest.fixture
def counted(folder: Path) -> Iterator[Counted]:
    call = cinfer.load(str(folder / "layer.gio")).signature("predict")
    assert by_rows([*call.inputs.values(), *call.outputs.values()])
    yield Counted(call, Worker(), 30.0, False)


def gathered(batches: Batches, inputs: list[Any]) -> list[Any]:
    """The results of requests that come together."""

    async def together() -> list[Any]:
        return await asyncio.gather(
            *(batches.run([value]) for value in inputs), return_exceptions=True
        )

    return asyncio.run(together())


def test_requests_of_a_window_share_a_run_with_the_same_bits(counted: Counted) -> None:
    x = np.random.default_rng(4).normal(size=(10, 4)).astype(np.float32)
    parts = [x[:1], x[1:4], x[4:5], x[5:]]
    found = gathered(Batches(counted, 0.05, 100), parts)
    assert counted.rows == [10]
    alone = [asyncio.run(counted.run([part]))[0] for part in parts]
    assert [f[0].tobytes() for f in found] == [a.tobytes() for a in alone]


def test_a_full_batch_does_not_wait_and_a_large_request_runs_alone(counted: Counted) -> None:
    x = np.zeros((9, 4), np.float32)
    found = gathered(Batches(counted, 3600.0, 4), [x[:3], x[:1], x[:9], x[:2], x[:2]])
    assert [len(f[0]) for f in found] == [3, 1, 9, 2, 2]
    assert sorted(counted.rows) == [4, 4, 9]


def test_only_the_wrong_request_of_a_batch_fails(folder: Path) -> None:
    host = {"ParseExample": served_models.parse_x}
    call = cinfer.load(str(folder / "half/saved_model.gio"), host=host)
    runner = Runner(call.signature("regress_records"), Worker(), 30.0, False)
    good = served_models.example_pb2.Example()
    good.features.feature["x"].float_list.value.append(1.0)
    records = [good.SerializeToString(), b"\xff\xff", good.SerializeToString()]
    found = gathered(Batches(runner, 0.02, 100), [np.array([r], object) for r in records])
    assert [isinstance(f, errors.OpError) for f in found] == [False, True, False]
    assert found[0][0].tolist() == [[3.5]]


def test_runs_of_a_slow_model_leave_the_event_loop_free(folder: Path) -> None:
    options = settings.of(str(folder / "endless.gio"), {"timeout": 0.5})
    catalog = Catalog(options)
    catalog.update()
    entry = catalog.model("endless").get().entry()

    async def run() -> tuple[int, Any]:
        ticks, most = 0, {"most": np.array(2**62)}
        for _ in range(3):  # quick runs of as many bytes promise nothing
            await entry.run({"most": np.array(1)})
        running = asyncio.ensure_future(entry.run(most))
        while not running.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks, running.exception()

    ticks, error = asyncio.run(run())
    assert isinstance(error, errors.DeadlineExceededError)
    assert ticks > 5


@pytest.mark.parametrize(
    ("models", "options", "kind", "message"),
    [
        ("no.gio", {}, errors.NotFoundError, "there is no file or folder 'no.gio'"),
        ([], {}, errors.InvalidArgumentError, "no model to serve"),
        ({"a/b": "."}, {}, errors.InvalidArgumentError, "called 'a/b', expected a name without"),
        ([".", "."], {}, errors.InvalidArgumentError, "NAME=PATH"),
        (
            ".",
            {"threads": 0},
            errors.InvalidArgumentError,
            "threads is 0, expected an integer",
        ),
        (".", {"timeout": 0.0}, errors.InvalidArgumentError, "expected a number above 0"),
        (".", {"timeout": float("nan")}, errors.InvalidArgumentError, "timeout is nan"),
        (".", {"workers": 2}, errors.InvalidArgumentError, "there is no option workers; options"),
        (".", {"target": "gpu"}, errors.InvalidArgumentError, "gpu"),
    ],
)
def test_wrong_settings_are_refused_with_a_reason(
    models: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        settings.of(models, options)


def test_the_names_of_saved_models_are_those_of_their_package() -> None:
    from graphio.saved_model import constants, signature_constants

    theirs = {**vars(constants), **vars(signature_constants)}
    assert {name: getattr(names, name) for name in names.__all__} == {
        name: theirs[name] for name in names.__all__
    }


def test_processes_share_the_weights_of_a_copy_with_the_same_bits(
    folder: Path, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    x = {"x": np.random.default_rng(5).normal(size=(3, 4)).astype(np.float32)}
    path = str(folder / "layer.gio")
    plain = Servable("layer", 1, path, settings.of(path, {}))
    made = [Servable("layer", 1, path, settings.of(path, {"shared": str(shared)})) for _ in "ab"]
    (copy,) = shared.iterdir()
    assert [each.copy for each in made] == [str(copy)] * 2
    assert cinfer.load(str(copy)).state.names() == []  # constants, which stay in the file
    expected = asyncio.run(plain.entry().run(x))["y"].tobytes()
    assert [asyncio.run(s.entry().run(x))["y"].tobytes() for s in made] == [expected] * 2


def test_other_formats_are_converted_once_and_constants_need_no_copy(
    folder: Path, tmp_path: Path
) -> None:
    onnx = str(onnx_model(tmp_path / "abs.onnx"))
    copy = frozen.copy_of(onnx, str(tmp_path))
    assert copy is not None
    assert frozen.copy_of(onnx, str(tmp_path)) == copy
    assert frozen.copy_of(str(folder / "sensors.gio"), str(tmp_path)) is None
    frozen.forget(copy)
    frozen.forget(copy)
    assert not Path(copy).exists()


def test_the_copy_of_a_version_goes_with_it(saved: dict[int, Path], tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    copied(saved[1], tmp_path / "models/1")
    found = versions(tmp_path / "models", shared=str(shared))
    before = list(shared.iterdir())
    copied(saved[2], tmp_path / "models/2")
    found.update()
    after = list(shared.iterdir())
    assert (len(before), len(after), before != after) == (1, 1, True)
    assert added(found.get()) == 2.0


def test_a_signature_that_trains_is_not_served(tmp_path: Path, connect: Callable[..., Any]) -> None:
    client = connect(str(served_models.trained(tmp_path / "trained.gio")))
    body = {"signature_name": "train", "inputs": [1.0]}
    refused = client.post("/v1/models/trained:predict", json=body)
    assert (refused.status_code, "the model has predict" in refused.text) == (400, True)
    answer = client.post("/v1/models/trained:predict", json={"inputs": [1.0]})
    assert answer.json() == {"outputs": [1.0]}


def test_metrics_count_requests_by_model_method_and_status(
    folder: Path, connect: Callable[..., Any]
) -> None:
    client = connect(str(folder / "layer.gio"))
    for body in ([[1, 2, 3, 4]], [[1]], [[1, 2, 3, 4]]):
        client.post("/v1/models/layer:predict", json={"inputs": body})
    client.post("/v1/models/other:predict", json={})
    client.post("/v2/models/layer/infer", content=b"{")
    lines = client.get("/metrics").text.splitlines()
    assert client.get("/monitoring/prometheus/metrics").status_code == 200
    for model, method, status, count in (
        ("layer", "predict", 200, 2),
        ("layer", "predict", 400, 1),
        ("layer", "infer", 400, 1),
        ("", "predict", 404, 1),  # names that clients make up are not kept
    ):
        labels = f'method="{method}",model="{model}",status="{status}"'
        assert f"graphio_requests_total{{{labels}}} {count}.0" in lines
    assert 'graphio_request_seconds_count{method="predict",model="layer"} 3.0' in lines
    assert "graphio_requests_running 0.0" in lines
