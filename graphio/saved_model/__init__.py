"""Saved models: graphs with signatures and the values of their variables.

One file, which both engines and C programs open:

    tf.saved_model.save("digits.gio", session, {"predict": ({"x": x}, {"y": y})})
    model = tf.saved_model.load("digits.gio")
    model.signature("predict")(x=batch)["y"]

A folder, TensorFlow's way, from which a Session goes on:

    tf.saved_model.simple_save(session, "digits", {"x": x}, {"y": y})
    tf.saved_model.load(session, ["serve"], "digits")

The folder's `saved_model.gio` is such a file, too: it has what the signatures need, values
included. `tf.saved_model.load("digits")` opens it, and so does a C program:
ci_open("digits/saved_model.gio", ...).

May import tensorflow_files, train and below.

    model_file           the file; builder, loader: the folder; tensorflow_loading: TensorFlow's
    main_op, utils, constants, signature_def_utils, signature_constants, tag_constants    as in
                         TensorFlow
"""

from __future__ import annotations

from typing import Any

from graphio.saved_model import (
    builder,
    constants,
    loader,
    main_op,
    model_file,
    signature_constants,
    signature_def_utils,
    tag_constants,
    utils,
)
from graphio.saved_model.builder import SavedModelBuilder, simple_save
from graphio.saved_model.constants import (
    ASSETS_DIRECTORY,
    ASSETS_KEY,
    LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY,
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
    SAVED_MODEL_SCHEMA_VERSION,
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from graphio.saved_model.loader import maybe_saved_model_directory
from graphio.saved_model.main_op import main_op_with_restore
from graphio.saved_model.model_file import save, signature_spec
from graphio.saved_model.signature_constants import (
    CLASSIFY_INPUTS,
    CLASSIFY_METHOD_NAME,
    CLASSIFY_OUTPUT_CLASSES,
    CLASSIFY_OUTPUT_SCORES,
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    PREDICT_INPUTS,
    PREDICT_METHOD_NAME,
    PREDICT_OUTPUTS,
    REGRESS_INPUTS,
    REGRESS_METHOD_NAME,
    REGRESS_OUTPUTS,
)
from graphio.saved_model.signature_def_utils import (
    build_signature_def,
    classification_signature_def,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
)
from graphio.saved_model.tag_constants import EVAL, GPU, SERVING, TPU, TRAINING
from graphio.saved_model.utils import build_tensor_info, get_tensor_from_tensor_info
from graphio.support import api_guard

__all__ = [
    "ASSETS_DIRECTORY",
    "ASSETS_KEY",
    "CLASSIFY_INPUTS",
    "CLASSIFY_METHOD_NAME",
    "CLASSIFY_OUTPUT_CLASSES",
    "CLASSIFY_OUTPUT_SCORES",
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "EVAL",
    "GPU",
    "LEGACY_INIT_OP_KEY",
    "MAIN_OP_KEY",
    "PREDICT_INPUTS",
    "PREDICT_METHOD_NAME",
    "PREDICT_OUTPUTS",
    "REGRESS_INPUTS",
    "REGRESS_METHOD_NAME",
    "REGRESS_OUTPUTS",
    "SAVED_MODEL_FILENAME_PB",
    "SAVED_MODEL_FILENAME_PBTXT",
    "SAVED_MODEL_SCHEMA_VERSION",
    "SERVING",
    "TPU",
    "TRAINING",
    "VARIABLES_DIRECTORY",
    "VARIABLES_FILENAME",
    "Builder",
    "SavedModelBuilder",
    "build_signature_def",
    "build_tensor_info",
    "builder",
    "classification_signature_def",
    "constants",
    "contains_saved_model",
    "get_tensor_from_tensor_info",
    "is_valid_signature",
    "load",
    "loader",
    "main_op",
    "main_op_with_restore",
    "maybe_saved_model_directory",
    "model_file",
    "predict_signature_def",
    "regression_signature_def",
    "save",
    "signature_constants",
    "signature_def_utils",
    "signature_spec",
    "simple_save",
    "tag_constants",
    "utils",
]

#: modules at TensorFlow's paths, whose functions are guarded as this one's
_GUARDED_MODULES = (builder, loader, main_op, model_file, signature_def_utils, utils)

Builder = SavedModelBuilder
contains_saved_model = maybe_saved_model_directory


@api_guard.guarded
def load(*arguments: Any, **options: Any) -> Any:
    """Opens a saved model, in one of two ways, by the first argument.

    load(path, target="", *, state=None, lazy=False) opens a file that `save` wrote, or a folder,
    in an engine: see graphio.saved_model.model_file.load. The builder is not needed to run it.

    load(sess, tags, export_dir, import_scope=None, **saver_kwargs) adds a folder's graph to a
    Session's graph and restores its variables: see graphio.saved_model.loader.load.

    Returns:
        The engine's model; or a MetaGraphDef.

    Raises:
        NotFoundError, DataLossError, OSError, RuntimeError, ValueError: see there.
    """
    first = arguments[0] if arguments else options.get("sess")
    if first is not None and hasattr(first, "graph"):
        return loader.load(*arguments, **options)
    return model_file.load(*arguments, **options)
