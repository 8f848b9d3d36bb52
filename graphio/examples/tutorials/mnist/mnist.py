"""The network of TensorFlow's first tutorials: two hidden layers and a linear one."""

from __future__ import annotations

import math
from typing import Any

from graphio.evaluation import losses
from graphio.framework import dtypes
from graphio.framework.scopes import name_scope
from graphio.framework.tensor import Tensor
from graphio.ops.array import surface
from graphio.ops.linalg.matmul import matmul
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn import core
from graphio.ops.random import core as random
from graphio.summary import ops as summary
from graphio.support import api_guard
from graphio.train.optimizers.gradient_descent import GradientDescentOptimizer
from graphio.variables.variables import Variable

__all__ = [
    "IMAGE_PIXELS", "IMAGE_SIZE", "NUM_CLASSES", "evaluation", "inference", "loss", "training",
]  # fmt: skip

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


@api_guard.makes_variables
def inference(images: Any, hidden1_units: int, hidden2_units: int) -> Tensor:
    """The scores of pictures.

    Args:
        images: float32 [batch, 784].
        hidden1_units, hidden2_units: sizes of the hidden layers.

    Returns:
        float32 [batch, 10]; variables are weights and biases of the scopes hidden1, hidden2 and
        softmax_linear.
    """
    hidden = core.relu(_layer("hidden1", images, IMAGE_PIXELS, hidden1_units))
    hidden = core.relu(_layer("hidden2", hidden, hidden1_units, hidden2_units))
    return _layer("softmax_linear", hidden, hidden2_units, NUM_CLASSES)


def _layer(name: str, x: Any, inputs: int, outputs: int) -> Tensor:
    with name_scope(name):
        start = random.truncated_normal([inputs, outputs], stddev=1.0 / math.sqrt(inputs))
        weights = Variable(start, name="weights")
        biases = Variable(surface.zeros([outputs]), name="biases")
        y: Tensor = matmul(x, weights) + biases
        return y


@api_guard.operator
def loss(logits: Any, labels: Any) -> Tensor:
    """The mean cross-entropy.

    Args:
        logits: float32 [batch, 10].
        labels: integers [batch].
    """
    return losses.sparse_softmax_cross_entropy(
        labels=elementwise.cast(labels, dtypes.int64), logits=logits
    )


@api_guard.makes_variables
def training(loss: Any, learning_rate: Any) -> Any:
    """A step of gradient descent, which counts in a variable global_step; a summary of the loss."""
    summary.scalar("loss", loss)
    optimizer = GradientDescentOptimizer(learning_rate)
    step = Variable(0, name="global_step", trainable=False)
    return optimizer.minimize(loss, global_step=step)


@api_guard.operator
def evaluation(logits: Any, labels: Any) -> Tensor:
    """The number of pictures whose label has the highest score, int32."""
    correct = core.in_top_k(logits, labels, 1)
    return reduction.reduce_sum(elementwise.cast(correct, dtypes.int32))
