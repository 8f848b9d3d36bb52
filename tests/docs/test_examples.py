"""The programs of examples/ in TensorFlow's manner learn what they should, in both engines."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from engines import BOTH, module
from folders import ROOT

EXAMPLES = ROOT / "examples"


def output(program: str, engine: str, *arguments: str) -> str:
    """The output of examples/<program>/<program>.py with some arguments."""
    module(engine)
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / program / f"{program}.py"), "--engine", engine, *arguments],
        env={name: v for name, v in os.environ.items() if name != "GRAPHIO_TARGET"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@BOTH
def test_the_convolutional_classifier_knows_98_of_100_digits(engine: str) -> None:
    pytest.importorskip("sklearn")
    accuracies = re.findall(r"accuracy ([0-9.]+)", output("conv_digits", engine))
    assert len(accuracies) == 12
    assert float(accuracies[-1]) >= 0.98


@BOTH
def test_the_character_model_learns_letters(engine: str) -> None:
    size = ["--units", "64", "--streams", "16", "--length", "40"]
    text = output("char_lstm", engine, "--steps", "300", "--sample", "40", *size)
    bits = [float(v) for v in re.findall(r"([0-9.]+) bits", text)]
    assert 6 < bits[0] < 6.5  # as many as the alphabet's size has
    assert bits[-1] < 3.8  # of unseen text; letters by their frequency alone cost 4.5
    assert len(text.partition("unseen")[2].partition("\n")[2].rstrip("\n")) >= 40


@BOTH
def test_words_of_a_kind_come_together(engine: str) -> None:
    small = ["--steps", "2500", "--novels", "1", "--size", "32"]
    text = output("word2vec", engine, *small)
    losses = [float(v) for v in re.findall(r"loss ([0-9.]+)", text)]
    assert losses[-1] < losses[0] / 2
    found = re.search(r"word2vec ([0-9]+), co-occurrence counts ([0-9]+)", text)
    assert found is not None
    assert int(found[1]) >= 6  # ten at random words of 1000 would hold less than one
