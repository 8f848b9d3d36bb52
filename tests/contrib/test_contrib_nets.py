"""The networks of tf.contrib.slim against tf-slim's: names, shapes, end points, values."""

from __future__ import annotations

from typing import Any

import pytest
from contrib_scenes import recording

import graphio as tf

EXPECTED = recording.stored("nets")
SCENES = recording.scenes("nets")
#: the scenes that compute with the networks; the others only look at the graph
COMPUTING = [name for name in SCENES if name.startswith("units") or " to " in name]
PAIRS = [*((name, "runtime") for name in SCENES), *((name, "cinfer") for name in COMPUTING)]


def part(name: str) -> Any:
    return tf.contrib.slim.nets if name == "nets" else getattr(tf.contrib, name)


@pytest.mark.parametrize(("name", "target"), PAIRS)
def test_a_network_has_the_variables_end_points_and_values_of_tensorflow(
    name: str, target: str
) -> None:
    found = recording.record(tf, part, SCENES[name], target=target)
    recording.assert_equal(found, EXPECTED[name])
