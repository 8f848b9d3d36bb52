"""S18: names from a file are data in all readers' messages: printable, cut, and never a format."""

from __future__ import annotations

import warnings
from pathlib import Path

import loaded_formats
import pytest
from loaded_formats import READERS

from graphio.support import errors

NAMES = {
    "terminal": "\x1b[2J\x1b]0;owned\x07\x9b31m\r\x08",
    "direction": "safe\u202egpj.exe\u2066\u200b",
    "formats": "%n%s%x{0}{self}${HOME}",
    "lines": "a\nValueError: all is well",
    "half a pair": "a\udc1b",
    "huge": "x" * 60_000,
    "huge with blanks": "x " * 30_000,
}
MOST = 70_000


def shown(name: str, folder: Path) -> dict[str, str]:
    """The messages and warnings of all readers for files of a name."""
    loaded_formats.written(folder, name)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = loaded_formats.read(folder)
    return {**found, "warnings": "\n".join(str(w.message) for w in seen)}


@pytest.mark.parametrize("what", [w for w in NAMES if w != "half a pair"])
def test_messages_are_printable_and_short(what: str, tmp_path: Path) -> None:
    found = shown(NAMES[what], tmp_path / "files")
    assert found.keys() > READERS.keys()
    assert sum(bool(text) for text in found.values()) >= 8
    for reader, text in found.items():
        bad = {c for c in text if not c.isprintable() and c not in "\n\t"}
        assert not bad, (reader, bad)
        assert len(text) < MOST, reader


def test_a_name_that_is_a_format_is_shown_as_it_is(tmp_path: Path) -> None:
    found = shown(NAMES["formats"], tmp_path / "files")
    assert NAMES["formats"] in found["ONNX"] and NAMES["formats"] in found["a SavedModel"]


def test_a_name_with_a_line_end_adds_no_line_to_a_list_of_problems(tmp_path: Path) -> None:
    found = shown(NAMES["lines"], tmp_path / "files")
    for reader in "ONNX", "a SavedModel":
        assert not any(line.startswith("ValueError") for line in found[reader].splitlines()[1:])


def test_messages_that_a_person_reads_stay_as_they_are() -> None:
    for text in ("", "a\n  b\tc", "Gewicht ü \U0001f600 '\"\\", "y" * 400, "z " * 30_000):
        assert errors.DataLossError(message=text).message == text
    cut = errors.DataLossError(message="a" * 10_000).message
    assert cut == "a" * 200 + "... 9700 characters ..." + "a" * 100
    assert errors.DataLossError(message="\x1b\ud800\u202e\0").message == "\\x1b\\ud800\\u202e\\x00"
    assert len(errors.DataLossError(message="b " * 10**6).message) < MOST
