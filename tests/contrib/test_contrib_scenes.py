"""Programs of tf.contrib against TensorFlow: variables in their order, values, gradients."""

from __future__ import annotations

import pytest
from contrib_scenes import recording

import graphio as tf

EXPECTED = {module: recording.stored(module) for module in recording.MODULES}
ROWS = [(module, name) for module in recording.MODULES for name in recording.scenes(module)]
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@TARGETS
@pytest.mark.parametrize(("module", "name"), ROWS)
def test_a_scene_gives_the_variables_values_and_slopes_of_tensorflow(
    module: str, name: str, target: str
) -> None:
    scene = recording.scenes(module)[name]
    found = recording.record(tf, lambda part: getattr(tf.contrib, part), scene, target=target)
    # the recorded cells of cuDNN's layers have first values of their class, not of the layer
    recording.assert_equal(found, EXPECTED[module][name], starts=module != "cudnn_rnn")


@pytest.mark.parametrize("module", recording.MODULES)
def test_every_scene_is_recorded(module: str) -> None:
    assert list(EXPECTED[module]) == list(recording.scenes(module))
