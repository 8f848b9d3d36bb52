"""Documents as rows of numbers: of words, or of bytes."""

from __future__ import annotations

import collections
import io
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from graphio.contrib.learn.preprocessing.vocabulary import CategoricalVocabulary
from graphio.storage.gfile import GFile
from graphio.support import api_guard, errors

__all__ = ["TOKENIZER_RE", "ByteProcessor", "VocabularyProcessor", "tokenizer"]

Array = np.ndarray[Any, Any]

#: words in capitals, words of a name such as CamelCase, and other words
TOKENIZER_RE = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


@api_guard.unguarded
def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each document, as TOKENIZER_RE finds them."""
    for text in iterator:
        yield TOKENIZER_RE.findall(text)


class ByteProcessor:
    """Documents as the numbers of their bytes.

    Args:
        max_document_length: bytes of a row: longer documents are cut, zeros follow shorter ones.
    """

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> None:
        """Nothing: bytes need no vocabulary."""

    def fit_transform(self, x: Iterable[Any]) -> Iterator[Array]:
        """As transform."""
        return self.transform(x)

    def transform(self, x: Iterable[Any]) -> Iterator[Array]:
        """uint8 [max_document_length] for each document: bytes, or a str, encoded as UTF-8."""
        for document in x:
            data = document.encode("utf-8") if isinstance(document, str) else bytes(document)
            row = np.zeros(self.max_document_length, np.uint8)
            cut = np.frombuffer(data[: self.max_document_length], np.uint8)
            row[: len(cut)] = cut
            yield row

    def reverse(self, x: Iterable[Array]) -> Iterator[str]:
        """The text of each row, without the zeros at its end; "" where the bytes are not UTF-8."""
        for row in x:
            data = np.trim_zeros(row.astype(np.int8), trim="b").tobytes()
            try:
                yield data.decode("utf-8")
            except UnicodeDecodeError:
                yield ""


class VocabularyProcessor:
    """Documents as the numbers of their words.

    Args:
        max_document_length: words of a row: longer documents are cut, zeros follow shorter ones.
        min_frequency: fit keeps words that occur more often; 0: all.
        vocabulary: a CategoricalVocabulary; an empty one is replaced as None is.
        tokenizer_fn: gives the words of each document of an iterable; None: tokenizer.

    Attributes:
        vocabulary_: the words.

    Example:
        words = tf.contrib.learn.preprocessing.VocabularyProcessor(4)
        x = np.array(list(words.fit_transform(["a dog", "a cat"])))  # [[1, 2, 0, 0], [1, 3, 0, 0]]
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[Any]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Adds the words of documents to the vocabulary, drops rare ones and freezes it.

        Returns:
            this object.
        """
        for tokens in self._tokenizer(raw_documents):
            for token in tokens:
                self.vocabulary_.add(token)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[Array]:
        """fit, then transform, which read the documents twice."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Array]:
        """int64 [max_document_length] for each document."""
        for tokens in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for position, token in enumerate(tokens):
                if position >= self.max_document_length:
                    break
                row[position] = self.vocabulary_.get(token)
            yield row

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """The words of each row, with spaces between them."""
        for row in documents:
            yield " ".join([self.vocabulary_.reverse(number) for number in row])

    def save(self, filename: Any) -> None:
        """Writes this object to a file, pickled. tokenizer_fn must be a function of a module."""
        with GFile(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(
        cls, filename: Any, tokenizer_fn: Callable[..., Any] | None = None
    ) -> VocabularyProcessor:
        """Reads a file of save, also of TensorFlow's. It loads no code: of the names in a file only
        the classes of this module, a dictionary and the default tokenizer are known.

        Args:
            filename: of the file.
            tokenizer_fn: takes the position of the tokenizer_fn that the file names.

        Raises:
            NotFoundError: there is no such file.
            DataLossError: the file has other content, or names a tokenizer_fn which is not given.
        """
        with GFile(filename, "rb") as file:
            data = file.read()
        try:
            found = _Unpickler(io.BytesIO(data), tokenizer_fn).load()
        except errors.OpError:
            raise
        except Exception as error:  # pickle raises of many kinds for damaged bytes
            raise errors.DataLossError(
                message=f"{filename} is not a file of VocabularyProcessor.save: {error}"
            ) from None
        if not isinstance(found, VocabularyProcessor):
            raise errors.DataLossError(
                message=f"{filename} has a {type(found).__name__}, expected a VocabularyProcessor"
            )
        return found


class _Unpickler(pickle.Unpickler):
    """Knows the classes of VocabularyProcessor.save, and no other name."""

    def __init__(self, file: Any, tokenizer_fn: Callable[..., Any] | None) -> None:
        super().__init__(file)
        self._tokenizer_fn = tokenizer_fn

    def find_class(self, module: str, name: str) -> Any:
        """The class that a file names."""
        if module.startswith(_WRITERS) and name in _WRITTEN:
            return _WRITTEN[name]
        if (module, name) in _PLAIN:
            return _PLAIN[module, name]
        if self._tokenizer_fn is not None:
            return self._tokenizer_fn
        raise errors.DataLossError(
            message=f"the file names {module}.{name}: a custom tokenizer has to be given as "
            "tokenizer_fn"
        )


_WRITERS = ("tensorflow.contrib.learn.python.learn.preprocessing.", __package__)
_WRITTEN = {
    "CategoricalVocabulary": CategoricalVocabulary,
    "VocabularyProcessor": VocabularyProcessor,
    "tokenizer": tokenizer,
}
#: of Python: the dictionary of frequencies
_PLAIN = {
    ("collections", "defaultdict"): collections.defaultdict,
    ("builtins", "int"): int,
}
