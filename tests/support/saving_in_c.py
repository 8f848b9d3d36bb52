"""Saving by a call of the C library that the binding does not make."""

from __future__ import annotations

from pathlib import Path

import graphio.cinfer
from graphio.cinfer import status
from graphio.cinfer._native import lib


def saved_by_c(model: graphio.cinfer.Model, prefix: Path) -> Path:
    error = status.new_error()
    handle = model._handles.model
    code = lib.ci_save(model.state.handle, handle, str(prefix).encode(), -1, error)
    status.check(code, error)
    return prefix
