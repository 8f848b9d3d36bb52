"""The versions of a model: one, of a file, or those of a folder of numbers, which is watched.

A version that comes is opened before an older one goes, so there is always one that answers. What
cannot be opened is tried again when its files change: it may be a copy that is under way.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass

from graphio.serving.failures import not_found
from graphio.serving.frozen import Fingerprint, fingerprint, forget
from graphio.serving.opening import ENDINGS, holds_model
from graphio.serving.servable import Servable
from graphio.serving.settings import Settings
from graphio.support import errors

__all__ = ["AVAILABLE", "END", "LOADING", "VersionStatus", "Versions", "number_of"]

#: TensorFlow Serving's names of states
LOADING = "LOADING"
AVAILABLE = "AVAILABLE"
END = "END"
_MOST_ENDED = 16  # that a status lists
_MOST_DIGITS = 18  # of a version: it is an int64
_log = logging.getLogger(__name__)


def number_of(text: str) -> int | None:
    """The version that digits name; None: they name none."""
    is_number = text.isdecimal() and text.isascii() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else None


@dataclass(frozen=True)
class VersionStatus:
    """The state of a version.

    Attributes:
        state: LOADING, AVAILABLE or END.
        code: of the error that opening it gave, as in graphio.support.errors.
        message: of that error.
        looks: names, sizes and times of its files.
    """

    state: str
    code: int = errors.OK
    message: str = ""
    looks: Fingerprint = ()


class Versions:
    """The versions of one model.

    Attributes:
        watched: whether it is a folder of versions.
        status: by number.

    Args:
        name: of the model.
        settings: of the server.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.path = settings.models[name]
        self.watched = os.path.isdir(self.path) and not holds_model(self.path)
        self.status: dict[int, VersionStatus] = {}
        self._settings = settings
        self._open: dict[int, Servable] = {}

    def get(self, version: int | None = None) -> Servable:
        """A version; None: the newest that is open.

        Raises:
            NotFoundError: there is none.
        """
        opened = self._open
        if version is None and opened:
            return opened[max(opened)]
        if version is None or version not in opened:
            what = (
                f"Latest({self.name})" if version is None else f"Specific({self.name}, {version})"
            )
            raise not_found(f"Servable not found for request: {what}")
        return opened[version]

    @property
    def available(self) -> list[int]:
        """The open versions, the oldest first."""
        return sorted(self._open)

    def update(self) -> None:
        """Opens and closes versions until they are those of the folder.

        An error of opening goes to `status` and the log. Called from one thread at a time; `get`
        may be called meanwhile.
        """
        found = dict(self._found())
        keep = self._settings.keep or len(found)
        chosen = sorted(found, reverse=True)[:keep]
        for version in sorted(chosen):
            self._renew(version, found[version])
        gone = [version for version in self._open if version not in chosen]
        if any(version in self._open for version in chosen):  # else the old ones answer on
            for version in gone:
                self._close(version)

    def _found(self) -> Iterator[tuple[int, str]]:
        """Numbers and paths of what is there."""
        if not self.watched:
            yield 1, self.path
            return
        try:
            names = os.listdir(self.path)
        except OSError as error:
            _log.warning("model '%s': the folder cannot be read: %s", self.name, error)
            return
        for name in names:
            number = name
            for ending in ENDINGS:
                number = number.removesuffix(ending)
            if (version := number_of(number)) is not None:
                yield version, os.path.join(self.path, name)

    def _renew(self, version: int, path: str) -> None:
        """Opens a version if it is not open, and was not found damaged as it is."""
        if version in self._open:
            return
        looks = fingerprint(path)
        before = self.status.get(version)
        if before is not None and before.code and before.looks == looks:
            return
        self.status[version] = VersionStatus(LOADING, looks=looks)
        try:
            made = Servable(self.name, version, path, self._settings)
        except Exception as error:
            code = error.error_code if isinstance(error, errors.OpError) else errors.UNKNOWN
            text = error.message if isinstance(error, errors.OpError) else repr(error)
            self.status[version] = VersionStatus(END, code, text, looks)
            _log.error("model '%s', version %d, was not opened: %s", self.name, version, text)
            return
        self._open = {**self._open, version: made}
        self.status[version] = VersionStatus(AVAILABLE, looks=looks)
        _log.info("model '%s', version %d, is served", self.name, version)

    def _close(self, version: int) -> None:
        """Forgets a version; requests that run keep it until they end."""
        copy = self._open[version].copy
        self._open = {number: kept for number, kept in self._open.items() if number != version}
        if copy is not None:
            forget(copy)
        self.status[version] = VersionStatus(END)
        ended = sorted(number for number in self.status if self.status[number].state == END)
        for number in ended[:-_MOST_ENDED]:
            del self.status[number]
        _log.info("model '%s', version %d, is no longer served", self.name, version)
