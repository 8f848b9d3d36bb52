"""Remedies for values that do not fit, printed below the list of errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from graphio.model import casting
from graphio.schema.restore import Problems, Required, Rows, same_count

_SHOWN = 12


def listed(names: Iterable[str]) -> str:
    """ "a, b and 3 more"."""
    known = sorted(names)
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return ", ".join(known[:_SHOWN]) + more


def lines(
    problems: Problems,
    rows: Rows,
    expected: Required,
    names: Mapping[str, str],
    *,
    strict: bool = True,
    cast: bool = False,
) -> list[str]:
    """The checkpoint's other values, and the options of restore that would help.

    Args:
        problems: of this restore.
        rows: the stored values.
        expected: the variables.
        names: variable to the name of its value, as found so far.
        strict, cast: the options of restore.
    """
    used = {names.get(key) for key in expected}
    unused = [name for name in rows if name not in used]
    found = [f"not restored of the checkpoint: {listed(unused)}"] if unused else []
    if problems.missing and not strict:
        found.append("strict=False restores a part; of these variables there is none")
    if problems.other_dtype and cast:
        found.append("a cast loses digits at most, so there is no float to int")
    todo = list(_advice(problems, rows, expected, names, unused, strict))
    return [*found, *(["what to do:"] if todo else []), *(f"  {line}" for line in todo)]


def _advice(
    problems: Problems,
    rows: Rows,
    expected: Required,
    names: Mapping[str, str],
    unused: Sequence[str],
    strict: bool,
) -> Iterator[str]:
    yield from _renames(problems.missing, unused)
    if problems.missing and strict:
        yield "strict=False restores what is there and leaves the rest as it is"
    if any(casting.castable(rows[names[k]][0], expected[k][0]) for k in problems.other_dtype):
        yield "cast=True converts values of another dtype"
    if any(same_count(expected[k][1], rows[names[k]][1]) for k in problems.other_shape):
        yield "reshape=True accepts another shape of as many elements"
    if problems.other_dtype or problems.other_shape:
        first = [*problems.other_dtype, *problems.other_shape][0]
        yield f"ignore=[{first!r}, ...] leaves variables as they are"


def _renames(missing: Sequence[str], unused: Sequence[str]) -> Iterator[str]:
    """Scopes, or dots for slashes, that would find missing names."""
    if not missing:
        return
    free = set(unused)
    for (old, new), count in _scopes(missing, unused).most_common(1):
        yield (
            f"assignment_map={{{old!r}: {new!r}}} finds {count} of the {len(missing)} that are "
            "missing: they are there in another scope"
        )
    dotted = sum("/" in name and name.replace("/", ".") in free for name in missing)
    if dotted:
        yield (
            f"assignment_map=[(r'\\.', '/')] finds {dotted} of the {len(missing)} that are "
            "missing: they are there with dots"
        )


def _scopes(missing: Iterable[str], unused: Iterable[str]) -> Counter[tuple[str, str]]:
    """Pairs of scopes, the checkpoint's and the graph's, by how many missing names they find."""
    ends: dict[str, list[str]] = {}
    for name in unused:
        for scope, end in _splits(name):
            ends.setdefault(end, []).append(scope)
    found: Counter[tuple[str, str]] = Counter()
    for name in missing:
        for scope, end in _splits(name):
            if end in ends:
                found.update((old, scope) for old in ends[end][:_SHOWN])
                break
    return found


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """Scope and rest, the longest rest first: ("/", "a/b"), ("a/", "b")."""
    yield "/", name
    for i, letter in enumerate(name):
        if letter == "/":
            yield name[: i + 1], name[i + 1 :]
