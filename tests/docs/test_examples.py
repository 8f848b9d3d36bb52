"""The programs of examples/ in TensorFlow's manner learn what they should, in both engines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
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
def test_the_slim_network_learns_digits_from_records(engine: str) -> None:
    pytest.importorskip("sklearn")
    found = re.search(r"accuracy ([0-9.]+)", output("slim_digits", engine, "--steps", "60"))
    assert found is not None
    assert float(found[1]) >= 0.9


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


@BOTH
def test_the_autoencoder_knows_more_than_the_frequencies_of_pixels(
    engine: str, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    size = ["--units", "48", "--batch", "64"]
    text = output("vae", engine, "--steps", "500", *size, "--export", str(folder))
    bounds = [float(v) for v in re.findall(r"bound (-[0-9.]+)", text)]
    before, baseline = (
        float(re.search(rf"{words} (-[0-9.]+)", text)[1])  # type: ignore[index]
        for words in ("before:", "independent pixels")
    )
    assert bounds[-1] > bounds[0] > before
    assert bounds[-1] > baseline + 15  # nats a picture
    assert (folder / "saved_model.pb").exists()
    found = np.load(folder / "pictures.npy")
    assert found.shape == (6, 64)
    assert 0.0 <= found.min() < 0.2 < 0.8 < found.max() <= 1.0


@BOTH
def test_the_translator_translates_sentences_that_it_has_not_seen(
    engine: str, tmp_path: Path
) -> None:
    size = ["--steps", "140", "--units", "32", "--batch", "32", "--beams", "2"]
    text = output("translator", engine, str(tmp_path), *size)
    right = re.search(r"unseen sentences: ([0-9.]+)% without a mistake", text)
    assert right is not None and float(right[1]) > 90
    assert (tmp_path / "model.index").exists()
    assert "translator.gio: 50 of 50 translations are the same" in text


@BOTH
def test_the_generator_makes_points_of_every_cloud(engine: str, tmp_path: Path) -> None:
    size = ["--steps", "1500", "--units", "48", "--batch", "64"]
    text = output("gan", engine, str(tmp_path), *size)
    pattern = r"([0-9.]+)% of the points are in a cloud, ([0-9]) clouds"
    (before, _), (after, clouds) = re.findall(pattern, text)
    assert float(before) < 15
    assert float(after) > 40
    assert int(clouds) >= 7
    gap = re.search(r"generator.gio: the same points within (\S+)", text)
    assert gap is not None and float(gap[1]) < 1e-5


@BOTH
def test_the_unrolled_character_model_is_better_than_frequencies(
    engine: str, tmp_path: Path
) -> None:
    size = ["--steps", "120", "--units", "32", "--batch", "16", "--length", "20"]
    text = output("char_rnn", engine, str(tmp_path), *size)
    found = re.search(r"unseen text: perplexity ([0-9.]+), by frequency ([0-9.]+)", text)
    assert found is not None
    assert float(found[1]) < float(found[2]) / 3
    assert "char_rnn.gio: the same text" in text
