"""The tutorials of examples/ run as they are and arrive where they say, in both engines."""

from __future__ import annotations

import os
import subprocess
import sys

from engines import BOTH, module
from folders import ROOT

TUTORIALS = ROOT / "examples" / "tutorials"


def _output(name: str, engine: str, *arguments: str) -> list[str]:
    module(engine)
    done = subprocess.run(
        [sys.executable, str(TUTORIALS / name), *arguments],
        env={**os.environ, "GRAPHIO_TARGET": engine},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@BOTH
def test_the_two_layer_net_falls_by_four_orders_of_magnitude(engine: str) -> None:
    losses = [float(line.split()[-1]) for line in _output("two_layer_net.py", engine)]
    assert 1e7 < losses[0] < 1e8
    assert 50 < losses[-1] < 2000


@BOTH
def test_the_first_steps_say_what_they_promise(engine: str) -> None:
    lines = _output("first_steps.py", engine)
    assert 'Tensor("add:0", shape=(2, 2), dtype=float32)' in lines
    assert [line for line in lines if line.startswith("counter")] == [
        f"counter {i}" for i in (1, 2, 3)
    ]
    assert sum(line.startswith("as expected:") for line in lines) == 4


@BOTH
def test_the_recurrent_network_learns_to_add_up(engine: str) -> None:
    lines = _output("scan_rnn.py", engine, "300")
    errors = [float(line.split()[-1]) for line in lines]
    assert errors[-2] < errors[0] / 50
    assert errors[-1] < errors[0] / 5


@BOTH
def test_the_data_pipeline_finds_the_line(engine: str) -> None:
    lines = _output("data_pipeline.py", engine)
    errors = [float(line.split()[-1]) for line in lines if line.startswith("epoch")]
    assert len(errors) == 5
    assert errors[-1] < 2e-4
