"""The mapping from stored values to variables: names, scopes, regular expressions, functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from graphio.schema.restore import near

Renaming = Mapping[str, str] | Sequence[tuple[str, str]] | Callable[[str], str | None]
#: a stored name to its new one: None leaves the value out
_Rule = Callable[[str], str | None]

ROOT = "/"


def renamed(
    stored: Collection[str], how: Renaming | None, targets: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """Finds the stored value of each variable.

    Args:
        stored: names of the values.
        how: see tf.train.Saver.restore's assignment_map.
        targets: names of the variables.

    Returns:
        Variable's name to the name of its value, where there is one; and what is wrong with `how`,
        a line each.

    Raises:
        TypeError: how is none of the three.
        ValueError: a regular expression is none.
    """
    rule, wrong = _rule_of(how, stored, targets)
    found: dict[str, str] = {}
    plain: dict[str, str] = {}
    twice: dict[str, list[str]] = {}
    for name in stored:
        new = rule(name)
        if new == name:
            plain[name] = name
        elif new in found and new in targets:
            twice.setdefault(new, [found[new]]).append(name)
        elif new is not None:
            found[new] = name
    wrong += [
        f"assignment_map: {' and '.join(names)} are both for {target}"
        for target, names in twice.items()
    ]
    return plain | found, wrong


def _rule_of(
    how: Renaming | None, stored: Collection[str], targets: Collection[str]
) -> tuple[_Rule, list[str]]:
    if how is None:
        return (lambda name: name), []
    if isinstance(how, Mapping):
        return _by_table(how, stored, targets)
    if callable(how):
        return _by_function(how), []
    if isinstance(how, Sequence) and not isinstance(how, (str, bytes)):
        return _by_patterns(how, stored)
    raise TypeError(
        "assignment_map must be a dict of names, a list of (regular expression, replacement) or a "
        f"function, not {how!r}"
    )


def _by_table(
    table: Mapping[str, str], stored: Collection[str], targets: Collection[str]
) -> tuple[_Rule, list[str]]:
    """Names exactly; else the longest scope that a name is in."""
    for old, new in table.items():
        if not isinstance(old, str) or not isinstance(new, str):
            raise TypeError(f"assignment_map maps names to names, not {old!r} to {new!r}")

    def rule(name: str) -> str:
        if name in table:
            return table[name]
        for scope in reversed(_scopes(name)):
            if scope in table:
                rest = name if scope == ROOT else name[len(scope) :]
                return rest if table[scope] == ROOT else table[scope] + rest
        return name

    here, there = _with_scopes(stored), _with_scopes(targets)
    return rule, [
        line for old, new in table.items() for line in _entry_problems(old, new, here, there)
    ]


def _scopes(name: str) -> list[str]:
    """The scopes that a name is in, the root first."""
    return [ROOT, *(name[: i + 1] for i, letter in enumerate(name) if letter == "/")]


def _with_scopes(names: Iterable[str]) -> set[str]:
    return {part for name in names for part in (name, *_scopes(name))}


def _entry_problems(old: str, new: str, stored: set[str], targets: set[str]) -> Iterable[str]:
    entry = f"assignment_map {old!r}: {new!r}"
    if old.endswith("/") != new.endswith("/"):
        yield f"{entry}: a scope goes to a scope; both end with '/', or none"
        return
    if old not in stored:
        yield f"{entry}: the checkpoint has nothing {_called(old)}{_near(old, stored)}"
    if new not in targets:
        yield f"{entry}: there is no variable {_called(new)}{_near(new, targets)}"


def _called(name: str) -> str:
    return f"in the scope {name}" if name.endswith("/") else f"called {name}"


def _near(name: str, known: Iterable[str]) -> str:
    scope = name.endswith("/")
    found = near(name, sorted(n for n in known if n != ROOT and n.endswith("/") == scope))
    return f" (near: {', '.join(found)})" if found else ""


def _by_function(function: Callable[[str], Any]) -> _Rule:
    def rule(name: str) -> str | None:
        new = function(name)
        if new is not None and not isinstance(new, str):
            raise TypeError(f"assignment_map gave {new!r} for {name!r}; give a name, or None")
        return new

    return rule


def _by_patterns(pairs: Sequence[Any], stored: Collection[str]) -> tuple[_Rule, list[str]]:
    """Every substitution in turn, as re.sub does it."""
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[1], str):
            raise TypeError(
                f"assignment_map: a list holds (regular expression, replacement), not {pair!r}"
            )
    rules = [(compiled(pattern, "assignment_map"), new) for pattern, new in pairs]
    used: Counter[int] = Counter()
    results: dict[str, str] = {}
    for name in stored:
        results[name] = name
        for i, (pattern, new) in enumerate(rules):
            try:
                results[name], count = pattern.subn(new, results[name])
            except (re.error, IndexError) as error:
                raise ValueError(f"assignment_map: the replacement {new!r}: {error}") from None
            used[i] += count
    unused = [
        f"assignment_map: {pattern.pattern!r} is found in no name of the checkpoint"
        for i, (pattern, _) in enumerate(rules)
        if not used[i]
    ]
    return results.__getitem__, unused


def compiled(pattern: Any, what: str) -> re.Pattern[str]:
    """A regular expression. Raises TypeError, ValueError."""
    if not isinstance(pattern, (str, re.Pattern)):
        raise TypeError(f"{what}: {pattern!r} is not a regular expression")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{what}: {pattern!r} is not a regular expression: {error}") from None


def matching(patterns: Any, names: Iterable[str], what: str) -> tuple[set[str], list[str]]:
    """The names that begin with what one of the patterns says; and a line for each useless one."""
    if patterns is None:
        return set(), []
    given = [patterns] if isinstance(patterns, (str, re.Pattern)) else list(patterns)
    known, found, useless = list(names), set(), []
    for expression in (compiled(pattern, what) for pattern in given):
        hits = {name for name in known if expression.match(name)}
        found |= hits
        if not hits:
            useless.append(f"{what}: {expression.pattern!r} matches no variable")
    return found, useless
