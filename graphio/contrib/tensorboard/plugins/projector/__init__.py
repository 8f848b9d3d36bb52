"""The projector: embeddings as points in TensorBoard."""

from __future__ import annotations

import os
import sys
from typing import Any

from google.protobuf import text_format

from graphio.framework import api_boundary
from graphio.schema.summary_pb2 import EmbeddingInfo, ProjectorConfig, SpriteMetadata
from graphio.storage import gfile
from graphio.support import api_guard

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]


@api_guard.unguarded
def visualize_embeddings(summary_writer: Any, config: ProjectorConfig) -> None:
    """Writes projector_config.pbtxt to a writer's folder, which TensorBoard's projector reads.

    Args:
        summary_writer: a FileWriter.
        config: the variables and what describes their rows. Without a model_checkpoint_path the
            values are those of the newest checkpoint in the folder.

    Raises:
        ValueError: the writer has no folder.

    Example:
        >>> from graphio.contrib.tensorboard.plugins import projector
        >>> config = projector.ProjectorConfig()
        >>> config.embeddings.add(tensor_name="words", metadata_path="words.tsv")
        >>> projector.visualize_embeddings(tf.summary.FileWriter("logs"), config)
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    with gfile.GFile(os.path.join(folder, "projector_config.pbtxt"), "w") as file:
        file.write(text_format.MessageToString(config))


api_boundary.guard_namespace(sys.modules[__name__])
