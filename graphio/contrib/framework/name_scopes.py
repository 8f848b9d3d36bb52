"""Names in and outside of a scope that a graph is imported into."""

from __future__ import annotations

import re

from graphio.support import api_guard

__all__ = ["prepend_name_scope", "strip_name_scope"]


@api_guard.unguarded
def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """The name inside a scope; `^name` and `loc:@name` keep their beginnings."""
    if not import_scope:
        return name
    scope = import_scope.rstrip("/")
    return re.sub(r"^([\^]|loc:@)?(?=.)", lambda m: f"{m.group(1) or ''}{scope}/", name)


@api_guard.unguarded
def strip_name_scope(name: str, export_scope: str | None) -> str:
    """The name without a scope that it begins with; `^name` and `loc:@name` keep their beginnings.

    A name of another scope stays as it is.
    """
    if not export_scope:
        return name
    scope = re.escape(export_scope.rstrip("/"))
    return re.sub(rf"^([\^]|loc:@)?{scope}/", lambda m: m.group(1) or "", name, count=1)
