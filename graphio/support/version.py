"""The package's version, and the version of TensorFlow that programs see."""

import sys

graphio_version = "0.1.0"

#: The TensorFlow whose interface this is: programs compare these two with versions such as "1.0".
__version__ = VERSION = "1.15.5"
__git_version__ = GIT_VERSION = f"v{VERSION}"
__compiler_version__ = COMPILER_VERSION = sys.version.partition("[")[2].rstrip("]")
#: the version of the GraphDef format that TensorFlow 1.15 writes, and graphio
GRAPH_DEF_VERSION = 134
GRAPH_DEF_VERSION_MIN_CONSUMER = GRAPH_DEF_VERSION_MIN_PRODUCER = 0
