"""Names of TensorFlow before 1.0."""

from __future__ import annotations

import pytest

import graphio as tf
from graphio.python import names
from graphio.support.renamed import RENAMED


@pytest.mark.parametrize("old", RENAMED)
def test_a_renamed_name_is_not_there_and_its_successor_is(old: str) -> None:
    assert old not in names.table() or old.startswith("contrib.deprecated.")
    assert names.status(old).how == "not"
    assert names.status(RENAMED[old]).how in ("there", "partly")


def test_the_error_names_what_a_name_became() -> None:
    with pytest.raises(AttributeError, match=r"tf\.mul .* became tf\.multiply in TensorFlow 1\.0"):
        tf.mul(1, 2)
    with pytest.raises(AttributeError, match=r"train\.SummaryWriter is .* tf\.summary\.FileW"):
        tf.train.SummaryWriter("logs")


def test_programs_that_take_the_logger_of_tf_logging_set_what_get_logger_gives() -> None:
    assert tf.logging._logger is tf.logging.get_logger()
