"""tf.lookup: tables from words or numbers to others, kept and searched by Python.

May import ops and below.

    experimental  the table that operations change
"""

from graphio.lookup import experimental
from graphio.ops.state.lookup import (
    KeyValueTensorInitializer,
    StaticHashTable,
    StaticVocabularyTable,
    TextFileIndex,
    TextFileInitializer,
)

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]
