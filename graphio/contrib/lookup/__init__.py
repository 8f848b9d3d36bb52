"""tf.contrib.lookup: tables from words to numbers and back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.contrib.lookup.tables import (
    FastHashSpec,
    HasherSpec,
    HashTable,
    IdTableWithHashBuckets,
    StrongHashSpec,
    TextFileIdTableInitializer,
    TextFileStringTableInitializer,
    index_table_from_file,
    index_table_from_tensor,
    index_to_string,
    index_to_string_table_from_file,
    index_to_string_table_from_tensor,
    string_to_index,
    string_to_index_table_from_file,
    string_to_index_table_from_tensor,
)
from graphio.framework import api_boundary, refusals
from graphio.ops.state.lookup import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from graphio.ops.state.mutable_tables import DenseHashTable as MutableDenseHashTable
from graphio.ops.state.mutable_tables import MutableHashTable
from graphio.ops.state.tables import (
    InitializableLookupTableBase,
    LookupInterface,
    TableInitializerBase,
)

__all__ = [
    "FastHashSpec",
    "HashTable",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "InitializableLookupTableBase",
    "KeyValueTensorInitializer",
    "LookupInterface",
    "MutableDenseHashTable",
    "MutableHashTable",
    "StrongHashSpec",
    "TableInitializerBase",
    "TextFileIdTableInitializer",
    "TextFileIndex",
    "TextFileInitializer",
    "TextFileStringTableInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "string_to_index",
    "string_to_index_table_from_file",
    "string_to_index_table_from_tensor",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
