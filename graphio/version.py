"""tf.version: the version of TensorFlow whose interface graphio reports to programs."""

from graphio.support.version import (
    COMPILER_VERSION,
    GIT_VERSION,
    GRAPH_DEF_VERSION,
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
    "VERSION",
    "__compiler_version__",
    "__git_version__",
    "__version__",
    "graphio_version",
]
