"""Functions of tf against the values that TensorFlow gave, in both engines."""

from __future__ import annotations

import json

import name_scenes
import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf

STORED = json.loads(name_scenes.STORED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", name_scenes.SCENES)
def test_a_scene_gives_the_values_of_tensorflow(name: str, target: str) -> None:
    found = name_scenes.values(tf, name_scenes.SCENES[name], target=target)
    assert len(found) == len(STORED[name])
    for i, (ours, theirs) in enumerate(zip(found, STORED[name], strict=True)):
        assert np.shape(ours) == np.shape(theirs), i
        if np.asarray(theirs).dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=3e-5, atol=3e-6, err_msg=str(i))
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=str(i))


def test_every_scene_is_recorded() -> None:
    assert list(STORED) == list(name_scenes.SCENES)
