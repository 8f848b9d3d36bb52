"""The network whose numbers the tests of tf.profiler compare with TensorFlow's.

    python tests/programs/profiled_network.py    in an environment of TensorFlow 2

writes tests/programs/profiled_network.json: the numbers of tf.compat.v1.profiler.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).with_suffix(".json")


def build(tf: Any) -> None:
    """Adds the network to the default graph: only operations that both make as one node."""
    zeros = tf.zeros_initializer()
    x = tf.placeholder(tf.float32, [4, 8, 8, 3], name="x")
    with tf.variable_scope("conv"):
        w = tf.get_variable("w", [3, 3, 3, 5], initializer=zeros)
        b = tf.get_variable("b", [5], initializer=zeros)
        h = tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME", name="c")
        h = tf.nn.relu(tf.nn.bias_add(h, b, name="bias"), name="relu")
        h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID", name="pool")
    with tf.variable_scope("fc"):
        w2 = tf.get_variable("w", [20, 7], initializer=zeros)
        y = tf.matmul(tf.reshape(h, [4, 20]), w2, name="m")
        z = tf.nn.softmax(y, name="s")
    total = tf.add(z, 1.0, name="add")
    tf.reduce_sum(tf.multiply(total, total, name="square"), name="sum")
    tf.reduce_mean(y, 1, name="mean")
    tf.squared_difference(y, 1.0, name="sd")
    tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 3, 3, 1], "SAME", name="average")
    tf.nn.conv3d(tf.ones([1, 4, 4, 4, 2]), tf.ones([2, 2, 2, 2, 3]), [1] * 5, "SAME", name="c3")
    tf.nn.depthwise_conv2d(x, tf.ones([3, 3, 3, 2]), [1, 1, 1, 1], "SAME", name="dw")
    tf.add_n([y, y, y], name="n")
    tf.Variable(3, trainable=False, name="step")
    tf.matmul(tf.placeholder(tf.float32, [None, 2]), tf.ones([2, 2]), name="unknown")


def numbers(node: Any) -> list[Any]:
    """A node and those below it: name, own and total numbers."""
    own = [node.name, node.parameters, node.float_ops, node.total_parameters, node.total_float_ops]
    return [own, *(row for child in node.children for row in numbers(child))]


def profiles(tf: Any) -> dict[str, list[Any]]:
    """The numbers of both views, with the options of both kinds."""
    builder = tf.profiler.ProfileOptionBuilder
    kinds = {
        "parameters": builder.trainable_variables_parameter(),
        "float_ops": builder.float_operation(),
    }
    with tf.Graph().as_default() as graph:
        build(tf)
        return {
            f"{cmd} {kind}": numbers(
                tf.profiler.profile(graph, cmd=cmd, options={**options, "output": "none"})
            )
            for cmd in ("scope", "op")
            for kind, options in kinds.items()
        }


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_eager_execution()
    tensorflow.disable_resource_variables()
    lines = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in profiles(tensorflow).items())
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
