"""tf.version: the version of TensorFlow whose interface graphio reports to programs."""

from graphio.support.version import (
    COMPILER_VERSION,
    GIT_VERSION,
    GRAPH_DEF_VERSION,
    GRAPH_DEF_VERSION_MIN_CONSUMER,
    GRAPH_DEF_VERSION_MIN_PRODUCER,
    VERSION,
    __compiler_version__,
    __git_version__,
    __version__,
    graphio_version,
)

__all__ = [
    "COMPILER_VERSION",
    "GIT_VERSION",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "VERSION",
    "__compiler_version__",
    "__git_version__",
    "__version__",
    "graphio_version",
]
