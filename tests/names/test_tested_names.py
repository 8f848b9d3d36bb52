"""Every name that docs/names.md counts as there has a test."""

from __future__ import annotations

import pytest
import tested_names

import graphio as tf


def test_every_name_that_the_page_counts_is_used_by_a_test() -> None:
    found = tested_names.evidence()
    untested = [
        paths[0]
        for key, paths in tested_names.groups(tested_names.counted()).items()
        if found.file(key, paths) is None
    ]
    assert untested == []


def test_a_name_that_no_file_uses_is_found() -> None:
    # the name is put together, so that this file does not use it
    path = "image." + "rotate_by_magic"
    key = tested_names.identity(path, object())
    assert tested_names.evidence().file(key, [path]) is None


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        ("tf.image.adjust_hue(x)", True),
        ("pictures = tf.image\npictures.adjust_hue(x)", True),
        ("import graphio.image as pictures\npictures.adjust_hue(x)", True),
        ("from graphio.image import adjust_hue", True),
        ("getattr(tf.image, 'adjust_hue')", True),
        ("tf.compat.v1.image.adjust_hue(x)", True),
        ("other.adjust_hue(x)", False),
        ("tf.image.adjust_hue_more(x)", False),
        ("# tf.image.adjust_hue", False),
    ],
)
def test_a_use_is_an_attribute_of_the_namespace_or_a_string(source: str, uses: bool) -> None:
    path, value = "image.adjust_hue", tf.image.adjust_hue
    found = tested_names.Evidence(dict.fromkeys(tested_names.uses(source), "file"))
    assert (found.file(tested_names.identity(path, value), [path]) == "file") is uses


def test_names_of_one_object_have_one_test() -> None:
    values = {path: tested_names.names.resolve(path) for path in ("is_inf", "math.is_inf")}
    assert list(tested_names.groups(values).values()) == [["is_inf", "math.is_inf"]]
    constants = {"saved_model.TPU": "tpu", "saved_model.tag_constants.TPU": "tpu", "a.GPU": "tpu"}
    assert len(tested_names.groups(constants)) == 2
