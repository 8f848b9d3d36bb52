"""Records scenes with tf-slim, which has the code of contrib's layers, over TensorFlow 2.21.

python -m contrib_scenes.slim MODULE ...    in tests/contrib. Writes MODULE.json
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import types
from typing import Any

from contrib_scenes import recording

#: package of contrib -> modules of tf-slim whose names it has
PACKAGES = {
    "framework": ("tf_slim", "tf_slim.ops.framework_ops"),
    "layers": ("tf_slim", "tf_slim.layers.layers", "tf_slim.layers.normalization"),
    "losses": ("tf_slim.losses",),
    "metrics": ("tf_slim.metrics",),
    "slim": ("tf_slim",),
    "nets": ("tf_slim.nets",),
}


def package(name: str) -> types.SimpleNamespace:
    """The names of a package of contrib."""
    names = types.SimpleNamespace()
    for module in PACKAGES[name]:
        vars(names).update(vars(importlib.import_module(module)))
    return names


def main() -> None:
    """Records the named modules of scenes."""
    os.environ.update({"TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1"})
    tf: Any = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    tf.logging.set_verbosity("ERROR")
    legacy = "tf_keras.legacy_tf_layers"  # where TensorFlow looks for the layers of tf.layers
    for part in ("", ".base", ".convolutional", ".core", ".normalization", ".pooling"):
        sys.modules[legacy + part] = importlib.import_module(f"tf_keras.src.legacy_tf_layers{part}")
    # names that tf-slim uses and 2.21 has elsewhere
    ops: Any = importlib.import_module("tensorflow.python.framework.ops")
    ops.Tensor, ops.IndexedSlices = tf.Tensor, tf.IndexedSlices
    arrays: Any = importlib.import_module("tensorflow.python.ops.array_ops")
    arrays.stack, arrays.unstack = tf.stack, tf.unstack
    importlib.import_module("tensorflow.python.ops.control_flow_ops").cond = tf.cond  # type: ignore[attr-defined]
    gdn: Any = importlib.import_module("tf_slim.layers.layers").GDN
    tf.RegisterGradient("GDNLowerBound")(gdn._lower_bound_grad)
    for module in sys.argv[1:]:
        rows = []
        inside = importlib.import_module(f"contrib_scenes.{module}_scenes")
        record = getattr(inside, "record", recording.record)
        for name, scene in recording.scenes(module).items():
            try:
                found = record(tf, package, scene)
            except Exception as error:
                print(f"{module}: {name}: {error!r}"[:300])
                continue
            rows.append(f"{json.dumps(name)}: {json.dumps(found)}")
        target = recording.FOLDER / f"{module}.json"
        target.write_text("{\n" + ",\n".join(rows) + "\n}\n")
        print(f"{target}: {len(rows)} scenes")


if __name__ == "__main__":
    main()
