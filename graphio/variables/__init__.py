"""Variables: their class, scopes that share them by name, initializers, partitions, reads.

Imports ops, framework and below.
"""

from typing import TYPE_CHECKING

from graphio.support.old_paths import names_of

if not TYPE_CHECKING:
    __getattr__ = names_of(__name__, "graphio.variables.variables")
