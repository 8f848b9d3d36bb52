"""Twins of models of the suite for TFLite, in an environment that has tensorflow:

    python benchmarks/peers/twins.py FOLDER

writes NAME.tflite next to NAME.onnx. The perceptrons and the CNN have the same weights (from
NAME.weights.npz, which prepare.py writes), the others different random ones.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

layers = tf.keras.layers
Weights = dict[str, Any]


def perceptron(*sizes: int) -> Any:
    """Dense layers with relu between them."""
    x = first = tf.keras.Input(sizes[:1])
    for size in sizes[1:-1]:
        x = layers.Dense(size, "relu")(x)
    return tf.keras.Model(first, layers.Dense(sizes[-1])(x))


def digits_cnn() -> Any:
    """The digits CNN, channels last."""
    x = first = tf.keras.Input((8, 8, 1))
    for channels in (16, 32):
        x = layers.Conv2D(channels, 3, padding="same", activation="relu")(x)
    x = layers.Dense(64, "relu")(layers.Flatten()(layers.MaxPool2D(2)(x)))
    return tf.keras.Model(first, layers.Dense(10, "softmax")(x))


def lstm() -> Any:
    """The LSTM and its classifier."""
    first = tf.keras.Input((32, 64))
    return tf.keras.Model(first, layers.Dense(10)(layers.LSTM(128)(first)))


def _application(name: str) -> Callable[[], Any]:
    make = getattr(tf.keras.applications, name)
    return lambda: make(weights=None, classifier_activation=None)


TWINS: dict[str, tuple[Callable[[], Any], int]] = {
    "tiny": (lambda: perceptron(64, 32, 10), 1),
    "tiny_b64": (lambda: perceptron(64, 32, 10), 64),
    "mlp": (lambda: perceptron(1000, 100, 10), 1),
    "mlp_b64": (lambda: perceptron(1000, 100, 10), 64),
    "cnn": (digits_cnn, 1),
    "cnn_b32": (digits_cnn, 32),
    "lstm": (lstm, 1),
    "mobilenetv2": (_application("MobileNetV2"), 1),
    "resnet50": (_application("ResNet50"), 1),
}


def put_weights(model: Any, stored: Weights) -> None:
    """The weights of torch's layout in the order of the layers."""
    numbers = sorted({int(key.split(".")[0]) for key in stored})
    trained = [layer for layer in model.layers if layer.weights]
    for layer, number in zip(trained, numbers, strict=True):
        weight, bias = stored[f"{number}.weight"], stored[f"{number}.bias"]
        if weight.ndim == 4:
            weight = weight.transpose(2, 3, 1, 0)
        elif weight.shape[1] == 512:  # the flattened input has channels last here
            weight = weight.reshape(-1, 32, 4, 4).transpose(2, 3, 1, 0).reshape(512, -1)
        else:
            weight = weight.T
        layer.set_weights([weight, bias])


def main() -> None:
    folder = Path(sys.argv[1])
    for name, (make, batch) in TWINS.items():
        tf.keras.utils.set_random_seed(1)
        model = make()
        weights = folder / f"{name}.weights.npz"
        if weights.exists():
            put_weights(model, dict(np.load(weights)))
        spec = tf.TensorSpec((batch, *model.inputs[0].shape[1:]), tf.float32)
        function = tf.function(lambda x, m=model: m(x, training=False)).get_concrete_function(spec)
        frozen = convert_variables_to_constants_v2(function)  # else the weights stay behind
        converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
        (folder / f"{name}.tflite").write_bytes(converter.convert())
        print(name, flush=True)


if __name__ == "__main__":
    main()
