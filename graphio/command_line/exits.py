"""Exit codes of commands, and the exception of a refused input."""

from __future__ import annotations

DONE = 0
NO = 1  # a negative answer: files differ, a check failed, operators are missing
USAGE = 2  # unknown options, missing arguments, values that cannot be
FILE = 3  # a file is missing, damaged, or not what the command takes
FAULT = 4  # a mistake of graphio's own
OUTPUT = 5  # the standard output cannot be written: it is closed, or its disk full
INTERRUPTED = 130  # by Ctrl+C


class Refused(Exception):
    """An error that the user must fix; printed without a traceback."""

    def __init__(self, message: str, code: int = FILE) -> None:
        super().__init__(message)
        self.code = code
