"""tf.contrib.learn.preprocessing: strings and categories as numbers.

text          VocabularyProcessor: words; ByteProcessor: bytes
categorical   CategoricalProcessor: columns of categories
vocabulary    CategoricalVocabulary: one set of them
"""

from __future__ import annotations

import sys

from graphio.contrib.learn.preprocessing.categorical import CategoricalProcessor
from graphio.contrib.learn.preprocessing.text import (
    TOKENIZER_RE,
    ByteProcessor,
    VocabularyProcessor,
    tokenizer,
)
from graphio.contrib.learn.preprocessing.vocabulary import CategoricalVocabulary
from graphio.framework import api_boundary, refusals

__all__ = [
    "TOKENIZER_RE",
    "ByteProcessor",
    "CategoricalProcessor",
    "CategoricalVocabulary",
    "VocabularyProcessor",
    "tokenizer",
]

api_boundary.guard_namespace(sys.modules[__name__])
__getattr__ = refusals.getter(__name__)
