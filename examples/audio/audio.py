"""Sounds classified from raw samples: spectrogram, mel bands, MFCC and a small CNN in one file.

    python examples/audio/audio.py [FOLDER] [--steps 300]

The program makes the sounds itself: six kinds, in noise. Writes sounds.gio, whose signature
`classify` takes samples, samples.f32, the held-out sounds, and answers.txt, what cinfer answers to
them from Python. sounds.c answers with the same bits.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import graphio as tf
import graphio.cinfer
import graphio.runtime

RATE, SAMPLES = 8000, 4096
KINDS = ("tone", "chord", "rising", "falling", "clicks", "hiss")
FRAME, HOP, BANDS, COEFFICIENTS = 256, 128, 40, 16
BATCH, HELD_OUT = 32, 240


# ---- sounds ----


def sound(kind: int, random: np.random.RandomState) -> np.ndarray:
    """One of a kind, in noise: [SAMPLES]."""
    t = np.arange(SAMPLES) / RATE
    low = random.uniform(200, 1200)
    high = low * random.uniform(1.5, 2.8)
    sweep = 2 * np.pi * (low * t + (high - low) * t**2 / (2 * t[-1]))
    wave = {
        "tone": lambda: np.sin(2 * np.pi * low * t),
        "chord": lambda: (np.sin(2 * np.pi * low * t) + np.sin(2 * np.pi * high * t)) / 2,
        "rising": lambda: np.sin(sweep),
        "falling": lambda: np.sin(sweep[::-1]),
        "clicks": lambda: 3.0 * (np.arange(SAMPLES) % random.randint(300, 900) < 8),
        "hiss": lambda: random.randn(SAMPLES) * np.exp(-t * random.uniform(2, 8)),
    }[KINDS[kind]]()
    noise = random.randn(SAMPLES) * random.uniform(0.02, 0.2)
    return (wave * random.uniform(0.3, 1.0) + noise).astype(np.float32)


def sounds(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """[count, SAMPLES] and their kinds [count]."""
    random = np.random.RandomState(seed)
    kinds = (np.arange(count) % len(KINDS)).astype(np.int32)
    return np.stack([sound(k, random) for k in kinds]), kinds


# ---- the network ----


class Network(NamedTuple):
    samples: tf.Tensor
    kinds: tf.Tensor
    probabilities: tf.Tensor
    answers: tf.Tensor
    loss: tf.Tensor
    train: tf.Operation


def features(samples: tf.Tensor) -> tf.Tensor:
    """Cepstral coefficients of frames: [batch, frames, COEFFICIENTS]."""
    spectrogram = tf.abs(tf.signal.stft(samples, FRAME, HOP))
    bands = tf.signal.linear_to_mel_weight_matrix(BANDS, FRAME // 2 + 1, RATE, 80.0, RATE / 2)
    mel = tf.tensordot(spectrogram, bands, 1)
    logarithms = tf.log(mel + 1e-3)
    return tf.signal.mfccs_from_log_mel_spectrograms(logarithms)[:, :, :COEFFICIENTS]


def build() -> Network:
    """In the default graph."""
    tf.set_random_seed(1)
    samples = tf.placeholder(tf.float32, [None, SAMPLES], name="samples")
    kinds = tf.placeholder(tf.int32, [None], name="kinds")
    x = tf.expand_dims(features(samples) / 4.0, 3)
    x = tf.layers.conv2d(x, 8, [5, 5], strides=2, padding="same", activation=tf.nn.relu)
    x = tf.layers.conv2d(x, 16, [3, 3], strides=2, padding="same", activation=tf.nn.relu)
    logits = tf.layers.dense(tf.layers.flatten(x), len(KINDS))
    loss = tf.losses.sparse_softmax_cross_entropy(kinds, logits)
    train = tf.train.AdamOptimizer(0.006).minimize(loss)
    answers = tf.argmax(logits, 1, name="answers")
    return Network(samples, kinds, tf.nn.softmax(logits), answers, loss, train)


def trained(path: Path, steps: int) -> None:
    """Trains on new sounds in each step, and writes the model."""
    with tf.Graph().as_default(), tf.Session() as session:
        network = build()
        session.run(tf.global_variables_initializer())
        for step in range(steps):
            samples, kinds = sounds(BATCH, seed=step)
            fed = {network.samples: samples, network.kinds: kinds}
            loss, _ = session.run([network.loss, network.train], fed)
            if step % 100 == 99:
                print(f"step {step + 1} loss {loss:.3f}")
        outputs = {"answers": network.answers, "probabilities": network.probabilities}
        tf.saved_model.save(path, session, {"classify": ({"samples": network.samples}, outputs)})


# ---- answers ----


def lines(found: dict[str, np.ndarray]) -> str:
    """As sounds.c prints: the kind, and the probabilities with all their digits."""
    rows = zip(found["answers"], found["probabilities"], strict=True)
    return "".join(f"{KINDS[k]} {' '.join(f'{p:.9g}' for p in row)}\n" for k, row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", default=".", type=Path)
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    folder = arguments.folder
    trained(folder / "sounds.gio", arguments.steps)

    samples, kinds = sounds(HELD_OUT, seed=1 << 20)
    samples.tofile(folder / "samples.f32")
    classify = graphio.cinfer.load(folder / "sounds.gio").signature("classify")
    found = classify(samples=samples)
    (folder / "answers.txt").write_text(lines(found))
    print(f"held-out sounds: {np.mean(found['answers'] == kinds):.1%} right")

    runtime = graphio.runtime.load(folder / "sounds.gio").signature("classify")
    other = runtime(samples=samples)
    gap = np.abs(other["probabilities"] - found["probabilities"]).max()
    same = int(np.sum(other["answers"] == found["answers"]))
    print(f"the Python runtime: {same} of {HELD_OUT} equal, probabilities within {gap:.1e}")
    return 0 if same == HELD_OUT else 1


if __name__ == "__main__":
    sys.exit(main())
