"""The version, in one place."""

import sys

__version__ = "0.1.0"

VERSION = __version__
GIT_VERSION = f"v{__version__}"
COMPILER_VERSION = sys.version.partition("[")[2].rstrip("]")
GRAPH_DEF_VERSION = 1
