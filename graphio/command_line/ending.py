"""The end of a command: an exit code, and for an error one message, as JSON too on request.

exits.py has the codes.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from graphio.command_line import exits, streams
from graphio.support import errors

__all__ = ["end_of", "wants_json"]

#: errors that the user can fix: no traceback is shown
EXPECTED = (exits.Refused, errors.OpError, OSError, ValueError, KeyError, NotImplementedError)


def end_of(call: Callable[[], int | None], given: Sequence[str]) -> int:
    """Calls a command and reports how it ended.

    Args:
        call: runs it; gives the exit code, or raises.
        given: its arguments.

    Returns:
        The exit code.
    """
    code = exits.DONE
    with streams.Output() as output:
        try:
            code = _ended(call)
        except BaseException as error:
            if output.failure is None:
                code = _failed(error, given)
    if output.failure is None or code not in (exits.DONE, exits.NO):
        return code
    if isinstance(output.failure, BrokenPipeError):  # the reader has seen enough
        return exits.DONE
    why = os.strerror(output.failure.errno) if output.failure.errno else output.failure
    print(f"graphio: the standard output cannot be written: {why}", file=sys.stderr)
    return exits.OUTPUT


def _ended(call: Callable[[], int | None]) -> int:
    """The code with which a command ended. Raises what ended it in another way."""
    try:
        code = call() or exits.DONE
    except SystemExit as end:  # with which typer ends
        code = end.code if isinstance(end.code, int) else exits.DONE
        if isinstance(end.__context__, BrokenPipeError):
            code = exits.DONE
    if code == exits.INTERRUPTED:
        raise KeyboardInterrupt
    return code


def wants_json(given: Sequence[str]) -> bool:
    """Whether the arguments of a command ask for JSON."""
    words = given[: given.index("--")] if "--" in given else given
    return "--json" in words


def _failed(error: BaseException, given: Sequence[str]) -> int:
    """Tells of an error."""
    if "--debug" in given:
        traceback.print_exception(error)
    code, text = _code(error), _text(error)
    if code == exits.FAULT:
        more = "" if "--debug" in given else "; `graphio --debug ...` shows where"
        text = f"{type(error).__name__}: {text}{more}"
    print(f"graphio: {text}", file=sys.stderr)
    if wants_json(given):
        with contextlib.suppress(OSError):  # which the output notes
            print(json.dumps({"error": _facts(error, code)}, indent=2))
    return code


def _code(error: BaseException) -> int:
    if isinstance(error, exits.Refused):
        return error.code
    if isinstance(error, KeyboardInterrupt):
        return exits.INTERRUPTED
    if _is_usage(error):
        return exits.USAGE
    return exits.FILE if isinstance(error, EXPECTED) else exits.FAULT


def _text(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if _is_usage(error):
        return str(error.format_message())  # type: ignore[attr-defined]
    return str(error.args[0] if isinstance(error, KeyError) and error.args else error)


def _is_usage(error: BaseException) -> bool:
    """Whether it is an error of typer's, of which some versions bundle click."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _facts(error: BaseException, code: int) -> dict[str, Any]:
    """The JSON form of an error."""
    details: dict[str, Any] = {}
    if isinstance(error, errors.OpError):
        details = {"status": error.error_code, "node": error.node_name}
    elif isinstance(error, OSError) and error.errno is not None:
        details = {"errno": error.errno, "file": error.filename}
    if error.__cause__ is not None:
        details["cause"] = f"{type(error.__cause__).__name__}: {error.__cause__}"
    text = _text(error)
    return {"class": type(error).__name__, "message": text, "code": code, "details": details}
