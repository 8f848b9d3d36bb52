"""A program with queues, and the names that it gives: those of TensorFlow are in queue_names.txt.

Run by hand, in an environment with TensorFlow: python queue_names.py > queue_names.txt
"""

from __future__ import annotations

from typing import Any

import numpy as np

_TYPES = ("Queue", "Summary", "Reader")


def build(tf: Any) -> None:
    """Adds an operation of each kind to the default graph."""
    rows = [np.zeros((10, 2), np.float32), np.arange(10)]
    image, label = tf.train.slice_input_producer(rows, num_epochs=2)
    both = [image, label]
    tf.train.batch(both, 4)
    tf.train.batch({"a": image}, 4, name="mine", allow_smaller_final_batch=True, dynamic_pad=True)
    tf.train.shuffle_batch(both, 4, 30, 10)
    tf.train.batch_join([both, both], 4)
    tf.train.shuffle_batch_join([both, both], 4, 30, 10)
    tf.train.maybe_batch([label], tf.constant(True), 3)
    files = tf.train.string_input_producer(["a", "b"], num_epochs=1, name="files")
    reader = tf.TextLineReader()
    reader.read(files)
    reader.read_up_to(files, 3)
    reader.num_records_produced()
    reader.reset()
    tf.FIFOQueue(3, tf.int32).enqueue(1)
    tf.RandomShuffleQueue(3, 1, tf.int32)
    tf.PaddingFIFOQueue(3, [tf.int32], [[None]])
    tf.PriorityQueue(3, tf.int32, [()])
    tf.train.match_filenames_once("*")
    tf.train.range_input_producer(4).dequeue_up_to(2)


def lines(tf: Any) -> list[str]:
    """The types and names of the default graph."""
    operations = tf.get_default_graph().get_operations()
    found = [f"{op.type} {op.name}" for op in operations if any(k in op.type for k in _TYPES)]
    found += [f"local variable {v.name}" for v in tf.local_variables()]
    for runner in tf.get_collection("queue_runners"):
        enqueues = " ".join(op.name for op in runner.enqueue_ops)
        found.append(f"{runner.name}: {enqueues}; {runner.close_op.name} {runner.cancel_op.name}")
    return found + [f"summary {t.name}" for t in tf.get_collection("summaries")]


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_eager_execution()
    tensorflow.disable_control_flow_v2()
    build(tensorflow)
    print("\n".join(lines(tensorflow)))
