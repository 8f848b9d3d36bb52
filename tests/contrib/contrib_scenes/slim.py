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
    "layers": (
        *("tf_slim", "tf_slim.layers.layers", "tf_slim.layers.normalization"),
        "tf_slim.layers.rev_block_lib",
    ),
    "losses": ("tf_slim.losses",),
    "metrics": ("tf_slim.metrics",),
    "slim": ("tf_slim",),
    "training": ("tf_slim.training.training",),
    "nets": ("tf_slim.nets",),
    "image": tuple(
        f"tensorflow_addons.image.{name}"  # whose functions were contrib's
        for name in (
            *("transform_ops", "translate_ops", "dense_image_warp"),
            *("interpolate_spline", "sparse_image_warp", "distort_image_ops"),
        )
    ),
}


def open_addons() -> None:
    """Lets modules of tensorflow_addons be imported without what its packages import at first."""
    for name in ("tensorflow_addons", "tensorflow_addons.image", "tensorflow_addons.utils"):
        inside = name.replace(".", "/")
        folders = [f"{folder}/{inside}" for folder in sys.path]
        module = types.ModuleType(name)
        module.__path__ = [folder for folder in folders if os.path.isdir(folder)]
        sys.modules[name] = module
    annotations = types.ModuleType("tensorflow_addons.utils.types")
    annotations.__getattr__ = lambda name: Any  # type: ignore[method-assign]
    sys.modules[annotations.__name__] = annotations
    image: Any = sys.modules["tensorflow_addons.image"]
    for name in ("dense_image_warp", "interpolate_spline"):
        inner = importlib.import_module(f"tensorflow_addons.image.{name}")
        setattr(image, name, getattr(inner, name))


def package(name: str) -> types.SimpleNamespace:
    """The names of a package of contrib."""
    names = types.SimpleNamespace()
    for module in PACKAGES[name]:
        found = vars(importlib.import_module(module))
        vars(names).update({k: v for k, v in found.items() if name != "image" or callable(v)})
    if name == "image":
        compose = names.compose_transforms  # of a list
        names.compose_transforms = lambda *transforms: compose(list(transforms))
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
    flow: Any = importlib.import_module("tensorflow.python.ops.control_flow_ops")
    flow.cond, flow.Assert = tf.cond, tf.Assert
    gdn: Any = importlib.import_module("tf_slim.layers.layers").GDN
    tf.RegisterGradient("GDNLowerBound")(gdn._lower_bound_grad)
    open_addons()
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
