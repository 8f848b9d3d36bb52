"""Regular expressions of RE2's syntax, matched in linear time: complete strings, no groups kept.

A pattern becomes a program of steps with relative jumps; a match keeps the set of steps that it may
be at, so that no pattern makes it try again. What RE2 has and this lacks is refused: classes of
Unicode (\\p) and single bytes (\\C). cinfer/src/kernels/strings/regex_parse.c is the same in C.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from graphio.runtime.letters import cased, folded
from graphio.support import errors

__all__ = ["Program", "compile"]

MOST_REPEATS, MOST_STEPS, MOST_DEPTH = 1000, 10_000, 1000
CHAR, SPLIT, JUMP, ASSERT, MATCH = range(5)  # SPLIT goes on at the next step, and where it points

Range = tuple[int, int]
_WORD: tuple[Range, ...] = ((48, 57), (65, 90), (95, 95), (97, 122))
_PERL: dict[str, tuple[Range, ...]] = {
    "d": ((48, 57),),
    "s": ((9, 10), (12, 13), (32, 32)),
    "w": _WORD,
}
_POSIX: dict[str, tuple[Range, ...]] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": _WORD,
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
_PLAIN = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_REPEAT = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")


def _within(ranges: tuple[Range, ...] | list[Range], c: int) -> bool:
    return any(low <= c <= high for low, high in ranges)


@dataclass
class Letters:
    """A class of characters.

    Attributes:
        ranges: first and last.
        without: groups of ASCII characters of which any other belongs to the class.
        negated: whether the class is of all others.
        fold: whether small and large letters are the same.
    """

    ranges: list[Range] = field(default_factory=list)
    without: list[tuple[Range, ...]] = field(default_factory=list)
    negated: bool = False
    fold: bool = False

    def closed(self) -> Letters:
        """With the folded forms of its letters, if it folds."""
        if self.fold:
            letters = cased()
            for low, high in list(self.ranges):
                for c in letters[bisect_left(letters, low) : bisect_right(letters, high)]:
                    if not _within(self.ranges, folded(c)):
                        self.ranges.append((folded(c), folded(c)))
        return self

    def has(self, c: int) -> bool:
        """Whether a character belongs to the class."""
        k = folded(c) if self.fold else c
        found = _within(self.ranges, c) or _within(self.ranges, k)
        for group in self.without:
            large = k - 32 if self.fold and 97 <= k <= 122 else k
            found = found or not (_within(group, c) or _within(group, k) or _within(group, large))
        return found != self.negated


@dataclass
class _Group:
    """An open parenthesis: where its steps, its last way and its last part begin."""

    begin: int
    way: int
    flags: frozenset[str]
    part: int = -1
    repeated: bool = False
    ends: list[int] = field(default_factory=list)


class _Parser:
    """One pattern, read from left to right."""

    def __init__(self, pattern: str) -> None:
        self.text, self.at = pattern, 0
        self.flags: frozenset[str] = frozenset()
        self.steps: list[tuple[int, int]] = []
        self.classes: list[Letters] = []
        self.open = [_Group(0, 0, self.flags)]

    def wrong(self, what: str) -> errors.OpError:
        """The error for what stands here."""
        return errors.InvalidArgumentError(
            message=f"pattern {self.text[:100]!r}, character {self.at}: {what}"
        )

    # ---- characters ----

    def peek(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        found = self.peek(text)
        self.at += len(text) if found else 0
        return found

    def next(self) -> str:
        if self.at >= len(self.text):
            raise self.wrong("ends too early")
        self.at += 1
        return self.text[self.at - 1]

    # ---- steps ----

    def emit(self, kind: int, operand: int = 0) -> None:
        self.steps.append((kind, operand))
        self.check_size()

    def check_size(self) -> None:
        if len(self.steps) > MOST_STEPS:
            raise self.wrong(f"has more than {MOST_STEPS} steps")

    def part(self) -> None:
        """A new part begins, which a repetition may follow."""
        self.open[-1].part, self.open[-1].repeated = len(self.steps), False

    def letters(self, found: Letters) -> None:
        self.part()
        self.classes.append(found.closed())
        self.emit(CHAR, len(self.classes) - 1)

    def literal(self, c: int) -> None:
        self.letters(Letters([(c, c)], fold="i" in self.flags))

    def assertion(self, what: str) -> None:
        self.part()
        self.emit(ASSERT, ord(what))

    # ---- parts ----

    def parse(self) -> Program:
        """The program of the pattern."""
        while self.at < len(self.text):
            self.one()
        if len(self.open) > 1:
            raise self.wrong("a '(' is not closed")
        self.close_ways()
        self.emit(MATCH)
        return Program(self.steps, self.classes)

    def one(self) -> None:
        """The next part of the pattern."""
        c = self.next()
        if c == "(":
            self.group()
        elif c == ")":
            self.close()
        elif c == "|":
            self.way()
        elif c == "[":
            self.letters(self.bracket())
        elif c == ".":
            self.letters(Letters([] if "s" in self.flags else [(10, 10)], negated=True))
        elif c in "^$":
            self.assertion(c if "m" in self.flags else "A" if c == "^" else "z")
        elif c == "\\":
            self.escape()
        elif c in "*+?" or (c == "{" and _REPEAT.match(self.text, self.at - 1)):
            self.repeat(c)
        else:
            self.literal(ord(c))

    def group(self) -> None:
        outer = self.flags
        if self.take("?"):
            if self.peek("P<") or re.compile("<[^=!]").match(self.text, self.at):
                self.at += 2 if self.peek("P") else 1
                name = re.compile(r"[A-Za-z0-9_]+>").match(self.text, self.at)
                if name is None:
                    raise self.wrong("expected the name of a group, and '>'")
                self.at = name.end()
            elif not self.group_flags():
                self.open[-1].part = -1
                return
        if len(self.open) > MOST_DEPTH:
            raise self.wrong(f"parentheses nest deeper than {MOST_DEPTH}")
        self.part()
        self.open.append(_Group(len(self.steps), len(self.steps), outer))

    def group_flags(self) -> bool:
        """Flags behind '(?', from here on; whether a group follows them, rather than its end."""
        on, negative, some = set(self.flags), False, False
        while (c := self.next()) not in ":)":
            if c in "imsU":
                (on.discard if negative else on.add)(c)
            elif c != "-" or negative:
                raise self.wrong(f"'(?{c}' is not there: RE2 has no such group")
            some, negative = c != "-", negative or c == "-"
        if not some and (negative or c == ")"):
            raise self.wrong("flags are missing")
        self.flags = frozenset(on)
        return c == ":"

    def way(self) -> None:
        """'|': the steps since the last one become the first of two ways."""
        group = self.open[-1]
        self.steps.insert(group.way, (SPLIT, len(self.steps) - group.way + 2))
        group.ends.append(len(self.steps))
        self.emit(JUMP)
        group.way, group.part = len(self.steps), -1

    def close_ways(self) -> None:
        """The ways of the innermost group end here."""
        for end in self.open[-1].ends:
            self.steps[end] = (JUMP, len(self.steps) - end)

    def close(self) -> None:
        if len(self.open) == 1:
            raise self.wrong("a ')' closes nothing")
        self.close_ways()
        self.flags = self.open.pop().flags

    # ---- repetitions ----

    def repeat(self, c: str) -> None:
        least, most = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}.get(c, (0, 0))
        if c == "{":
            found = _REPEAT.match(self.text, self.at - 1)
            assert found is not None
            least = int(found[1][:9])
            most = -1 if found[2] and not found[3] else int(found[3][:9] or least)
            if found[3] and not found[2]:
                raise self.wrong("bad repetition")
            self.at = found.end()
            if max(least, most) > MOST_REPEATS or -1 < most < least:
                raise self.wrong(f"bad repetition {found[0]}: at most {MOST_REPEATS}, in order")
        self.take("?")
        group = self.open[-1]
        if group.part < 0 or group.repeated:
            raise self.wrong("a repetition follows nothing that can be repeated")
        group.repeated = True
        self.repeated(group.part, least, most)

    def repeated(self, begin: int, least: int, most: int) -> None:
        body = self.steps[begin:]
        size = len(body)
        copies = max(least, most, 1)
        if size * copies > MOST_STEPS:
            raise self.wrong(f"has more than {MOST_STEPS} steps")
        del self.steps[begin:]
        for _ in range(least):
            self.steps += body
        if most < 0 and least:  # the last copy again and again
            self.emit(SPLIT, 2)
            self.emit(JUMP, -size - 1)
        elif most < 0:
            self.steps += [(SPLIT, size + 2), *body, (JUMP, -size - 1)]
        for left in range(most - least, 0, -1):
            self.steps += [(SPLIT, left * (size + 1)), *body]
        self.check_size()

    # ---- escapes and classes ----

    def escape(self) -> None:
        c = self.next()
        if c in "AzbB":
            self.assertion(c)
        elif c == "Q":
            end = self.text.find("\\E", self.at)
            for letter in self.text[self.at : end if end >= 0 else len(self.text)]:
                self.literal(ord(letter))
            self.at = end + 2 if end >= 0 else len(self.text)
        elif c.lower() in _PERL and c.isascii():
            found = Letters(fold="i" in self.flags)
            self.add(found, _PERL[c.lower()], c.isupper())
            self.letters(found)
        elif c == "E":
            pass
        else:
            self.literal(self.escaped(c))

    def escaped(self, c: str) -> int:
        """The character that an escape stands for."""
        if c in _PLAIN:
            return _PLAIN[c]
        if c in "01234567":
            found = re.compile("[0-7]{1,3}").match(self.text, self.at - 1)
            assert found is not None
            if c != "0" and len(found[0]) == 1:
                raise self.wrong("groups cannot be referred to")
            self.at = found.end()
            return int(found[0], 8)
        if c == "x":
            found = re.compile(r"\{([0-9A-Fa-f]{1,8})\}|([0-9A-Fa-f]{2})").match(self.text, self.at)
            if found is None or int(found[1] or found[2], 16) > 0x10FFFF:
                raise self.wrong("expected two hexadecimal digits, or {10FFFF} at most")
            self.at = found.end()
            return int(found[1] or found[2], 16)
        if c in "pPC":
            raise errors.UnimplementedError(
                message=f"pattern {self.text[:100]!r}: \\{c} is not there; list the ranges of "
                "characters in brackets"
            )
        if not c.isascii() or c.isalnum():
            raise self.wrong(f"RE2 has no escape \\{c}")
        return ord(c)

    @staticmethod
    def add(found: Letters, group: tuple[Range, ...], others: bool) -> None:
        """The characters of a group, or all others, to a class."""
        if others:
            found.without.append(group)
        else:
            found.ranges += group

    def bracket(self) -> Letters:
        """A class behind '['."""
        found = Letters(fold="i" in self.flags)
        found.negated = self.take("^")
        first = True
        while first or not self.peek("]"):
            first = False
            named = re.compile(r"\[:(\^?)([a-z]*):\]").match(self.text, self.at)
            if named is not None:
                if named[2] not in _POSIX:
                    raise self.wrong(f"there is no class {named[0]}")
                self.at = named.end()
                self.add(found, _POSIX[named[2]], bool(named[1]))
                continue
            c = self.text[self.at + 1 : self.at + 2] if self.peek("\\") else ""
            if c and c in "dDsSwW":
                self.at += 2
                self.add(found, _PERL[c.lower()], c.isupper())
                continue
            low = high = self.member()
            if self.peek("-") and not self.peek("-]"):
                self.at += 1
                high = self.member()
            if high < low:
                raise self.wrong("a range of characters runs backwards")
            found.ranges.append((low, high))
        self.at += 1
        return found

    def member(self) -> int:
        """A character of a class."""
        c = self.next()
        return self.escaped(self.next()) if c == "\\" else ord(c)


class Program:
    """A pattern that is ready."""

    def __init__(self, steps: list[tuple[int, int]], classes: list[Letters]) -> None:
        self.steps, self.classes = steps, classes
        self.matches = [functools.lru_cache(1 << 10)(letters.has) for letters in classes]

    def full_match(self, text: str) -> bool:
        """Whether the pattern matches the entire string."""
        before = ""
        at = self.closure((0,), before, text[:1])
        for i, letter in enumerate(text):
            if not at:
                return False
            at = self.closure(self.after(at, ord(letter)), letter, text[i + 1 : i + 2])
        return any(self.steps[step][0] == MATCH for step in at)

    def after(self, at: tuple[int, ...], c: int) -> tuple[int, ...]:
        """The steps behind those of `at` that take the character."""
        steps, matches = self.steps, self.matches
        return tuple(s + 1 for s in at if steps[s][0] == CHAR and matches[steps[s][1]](c))

    def closure(self, begin: tuple[int, ...], before: str, behind: str) -> tuple[int, ...]:
        """The steps that are reached without taking a character."""
        seen: set[int] = set()
        found, waiting = [], list(begin)
        while waiting:
            step = waiting.pop()
            if step in seen:
                continue
            seen.add(step)
            kind, operand = self.steps[step]
            if kind in (CHAR, MATCH):
                found.append(step)
                continue
            if kind in (SPLIT, JUMP):
                waiting.append(step + operand)
            if kind == SPLIT or (kind == ASSERT and _holds(chr(operand), before, behind)):
                waiting.append(step + 1)
        return tuple(found)


def _holds(what: str, before: str, behind: str) -> bool:
    """Whether an assertion holds between two characters; "" is an end of the text."""
    if what in "Az":
        return not (before if what == "A" else behind)
    if what in "^$":
        return (before if what == "^" else behind) in ("", "\n")
    inside = [c != "" and _within(_WORD, ord(c)) for c in (before, behind)]
    return (inside[0] != inside[1]) == (what == "b")


def compile(pattern: str) -> Program:
    """The program of a pattern.

    Raises:
        InvalidArgumentError: it is not a regular expression of RE2's, or too large.
        UnimplementedError: it has what RE2 has and this lacks.
    """
    return _Parser(pattern).parse()
