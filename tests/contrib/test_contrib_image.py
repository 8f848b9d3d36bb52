"""tf.contrib.image against tensorflow-addons, which has its code: values, gradients."""

from __future__ import annotations

import pytest
from contrib_scenes import recording

import graphio as tf

EXPECTED = recording.stored("image")
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@TARGETS
@pytest.mark.parametrize("name", recording.scenes("image"))
def test_a_scene_gives_the_variables_values_and_slopes_of_tensorflow(
    name: str, target: str
) -> None:
    scene = recording.scenes("image")[name]
    found = recording.record(tf, lambda part: getattr(tf.contrib, part), scene, target=target)
    recording.assert_equal(found, EXPECTED[name])
