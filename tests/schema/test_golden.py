"""Files of every format version, as they were written: they are read for ever, with their bits."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import schema_samples
import second_reader
from folders import GOLDEN

import graphio.cinfer
import graphio.runtime
from graphio.schema import container, verify
from graphio.schema.checkpoint import read_checkpoint

VERSIONS = sorted(p.parent.name for p in GOLDEN.glob("*/golden.json"))
FACTS: dict[str, dict[str, str]] = {
    f"{version}/{name}": facts
    for version in VERSIONS
    for name, facts in json.loads((GOLDEN / version / "golden.json").read_text()).items()
}
MODELS = [name for name in FACTS if name.endswith(".gio")]
CHECKPOINTS = [v for v in VERSIONS if f"{v}/checkpoint/m-7.index" in FACTS]


def test_there_are_golden_files() -> None:
    assert MODELS and CHECKPOINTS
    assert {"1.0", "1.0-packed", "1.1-metrics"} <= set(VERSIONS)


@pytest.mark.parametrize("name", FACTS)
def test_a_golden_file_is_as_it_was_written(name: str) -> None:
    assert hashlib.sha256((GOLDEN / name).read_bytes()).hexdigest() == FACTS[name]["file"]


def results(engine: Any, path: Path) -> list[np.ndarray]:
    """The outputs of all self-tests, in order, on one state."""
    model, arrays = container.read(path)
    loaded = engine.load(path)
    found = []
    for test in model.selftest:
        found += loaded.signature(test.signature).run([arrays[i] for i in test.input])
    return found


@pytest.mark.parametrize("name", MODELS)
def test_cinfer_gives_the_bits_of_a_golden_file(name: str) -> None:
    found = results(graphio.cinfer, GOLDEN / name)
    if any(test.output for test in container.read(GOLDEN / name)[0].selftest):
        assert schema_samples.digest(found) == FACTS[name]["outputs"]


@pytest.mark.parametrize("name", MODELS)
def test_the_runtime_gives_the_values_of_a_golden_file(name: str) -> None:
    model, arrays = container.read(GOLDEN / name)
    expected = [arrays[i] for test in model.selftest for i in test.output]
    found = results(graphio.runtime, GOLDEN / name)
    for a, b in zip(found, expected, strict=False):
        assert a.dtype == b.dtype and a.shape == b.shape
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
        else:
            assert np.array_equal(a, b)


@pytest.mark.parametrize("name", MODELS)
def test_readers_agree_on_a_golden_file(name: str) -> None:
    model, arrays = container.read(GOLDEN / name)
    assert verify.problems(model) == []
    second = second_reader.read_model(str(GOLDEN / name))
    assert second["nodes"] == [(n.name, n.op, list(n.input)) for n in model.graph.node]
    assert all(map(schema_samples.same, second["tensors"], arrays))
    whole = model.SerializeToString(deterministic=True)
    data = (GOLDEN / name).read_bytes()
    assert data[64 : 64 + len(whole)] == whole, "a field of the file is unknown here"


@pytest.mark.parametrize("version", CHECKPOINTS)
def test_golden_checkpoints_are_read(version: str) -> None:
    prefix = GOLDEN / version / "checkpoint" / "m-7"
    found = read_checkpoint(prefix)
    expected_values = FACTS[f"{version}/checkpoint/m-7.index"]["variables"]
    second = second_reader.read_checkpoint(str(prefix))
    for variables in (found.variables, second["variables"]):
        assert schema_samples.digest([variables[n] for n in sorted(variables)]) == expected_values
    assert found.step == second["step"] == 7
    assert found.generators == second["generators"] == {"rng": (1, 1 << 63)}
    container.unpack(found.meta())
    assert found.metrics == (schema_samples.METRICS if version.endswith("-metrics") else {})
