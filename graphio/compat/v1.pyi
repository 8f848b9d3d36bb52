"""graphio.compat.v1 is graphio."""

from graphio import *  # noqa: F403
from graphio import __version__ as __version__
