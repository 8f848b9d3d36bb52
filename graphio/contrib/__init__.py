"""tf.contrib: the parts of TensorFlow 1's contrib that programs use, each loaded at its first use.

May import onnx and below.

    framework                arg_scope, model variables, values from checkpoints
    layers, slim             layers as functions, loops of training and evaluation, networks
    rnn                      recurrent cells, and nets over lists of inputs
    seq2seq, legacy_seq2seq  decoders, attention, beam search, losses of sequences
    crf                      conditional random fields over tags
    cudnn_rnn                nets with the weights of cuDNN's
    training                 hyperparameters, training steps, evaluation
    learn                    preprocessing, data sets, files in batches, metrics by names
    losses, metrics, opt, image, resampler, data, lookup, summary, util and others
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from typing import Any

from graphio.framework import refusals
from graphio.python import modules

modules.install("contrib")


def __getattr__(name: str) -> Any:
    path = f"{__name__}.{name}"
    if not name.startswith("_") and importlib.util.find_spec(path) is not None:
        package = importlib.import_module(path)
        importlib.import_module(f"{path}.python")  # programs reach tf.contrib.rnn.python.ops
        return package
    text = refusals.refusal(f"contrib.{name}") or (
        f"module {__name__!r} has no attribute {name!r}: there are {', '.join(__dir__())}"
    )
    raise AttributeError(text, name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted(found.name for found in pkgutil.iter_modules(__path__))
