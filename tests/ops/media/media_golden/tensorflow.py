"""Records the values of the scenes with TensorFlow 2.21: python -m media_golden.tensorflow."""

from __future__ import annotations

import importlib
import os
from typing import Any

from media_golden import scenes, stored


def value(tf: Any, build: Any, feed: bytes | None = None) -> Any:
    """The packed arrays of a scene, or the class of its error."""
    with tf.Graph().as_default(), tf.Session() as session:
        contents = tf.placeholder(tf.string, [])
        try:
            made = build(tf) if feed is None else build(tf, contents)
            fetches = list(made) if isinstance(made, (list, tuple)) else [made]
            found = session.run(fetches, None if feed is None else {contents: feed})
        except (tf.errors.OpError, ValueError) as error:
            return type(error).__name__
    return [stored.packed(v) for v in found]


def main() -> None:
    """Records all."""
    os.environ.update({"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"})
    tf: Any = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    content = stored.load()
    rows = {name: value(tf, scene) for name, scene in scenes.SCENES.items()}
    for name, data in stored.files().items():
        for call, build in scenes.decoding(name):
            rows[f"{name}: {call}"] = value(tf, build, data)
    for k, (size, boxes, options) in enumerate(scenes.PARTS):
        rows[f"part {k}"] = value(
            tf,
            lambda tf, k=k, s=size, b=boxes, o=options: tf.image.sample_distorted_bounding_box(
                s, b, seed=k + 1, seed2=k + 5, **o
            ),
        )
    stored.save({"files": content["files"], "values": rows})
    print(f"{len(rows)} scenes, {stored.PATH.stat().st_size} bytes")


if __name__ == "__main__":
    main()
