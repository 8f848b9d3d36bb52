"""Records the scenes with TensorFlow 2.21, by the Python that has it:

python -m distribution_cases.tensorflow
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from distribution_cases import scenes

FILE = Path(__file__).with_suffix(".json")


def stored() -> dict[str, Any]:
    """The recording."""
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def main() -> None:
    import tensorflow.compat.v1 as tf

    found: dict[str, Any] = {"scenes": {}, "failures": {}}
    for name in scenes.SCENES:
        with tf.Graph().as_default(), tf.Session() as session:
            found["scenes"][name] = scenes.described(tf.distributions, name, session.run)
    for name in scenes.FAILURES:
        with tf.Graph().as_default():
            found["failures"][name] = scenes.failure(tf.distributions, name)
    FILE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
