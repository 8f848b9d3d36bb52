"""Regular expressions of RE2's syntax by Python's re, as TensorFlow's string operators match them.

Strings and patterns are UTF-8: "." is a character, not a byte. Classes as \\d have ASCII characters
alone, "$" is the end of the text and not also the position before its last newline, \\p{..} names
characters by their general category.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
import sys
import unicodedata

from graphio.support import errors

__all__: list[str] = []

_PERL = {"d": "0-9", "s": r"\t\n\f\r ", "w": "0-9A-Za-z_"}
_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7f", "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": r"!-/:-@\[-`{-~", "space": r"\t-\r ", "upper": "A-Z", "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_OUTSIDE = {"A": r"\A", "z": r"\Z", "b": r"(?a:\b)", "B": r"(?!(?a:\b))"}
_TOKEN = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)"
    r"|\\(?P<unicode>[pP](?:\{\^?\w+\}|\w))"
    r"|\\x\{(?P<hex>[0-9a-fA-F]+)\}"
    r"|\\x(?P<byte>[0-9a-fA-F]{2})"
    r"|\\(?P<octal>0[0-7]{0,2}|[1-7][0-7]{1,2})"
    r"|\\(?P<escaped>.)"
    r"|\[:(?P<posix>\^?[a-z]*):\]"
    r"|(?P<plain>.)",
    re.DOTALL,
)
_GROUP = re.compile(r"\(\?(?:(?P<flags>[imsU]*(?:-[imsU]+)?)(?P<end>[:)])|P?<(?P<name>\w+)>)")
_REPEAT = re.compile(r"\{\d+(,\d*)?\}")
_MOST_REPEATED = 1000


def _invalid(pattern: bytes, why: str) -> errors.InvalidArgumentError:
    shown = pattern.decode("utf-8", "replace")
    return errors.InvalidArgumentError(message=f"Invalid pattern: {shown!r}, {why}")


@functools.cache
def _categories() -> dict[str, str]:
    """The characters of each general category, as ranges of a class of re."""
    found: dict[str, list[list[int]]] = {}
    for code in range(sys.maxunicode + 1):
        name = unicodedata.category(chr(code))
        for ranges in (found.setdefault(name, []), found.setdefault(name[0], [])):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    written = {
        name: "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in ranges)
        for name, ranges in found.items()
    }
    return {**written, "Any": r"\U00000000-\U0010ffff"}


def _complement(ranges: str) -> str:
    """The ranges of all characters that a category has not."""
    pairs = re.findall(r"\\U(.{8})-\\U(.{8})", ranges)
    ends = [-1, *(int(end, 16) for _, end in pairs)]
    begins = [*(int(begin, 16) for begin, _ in pairs), sys.maxunicode + 1]
    gaps = [(e + 1, b - 1) for e, b in zip(ends, begins, strict=True) if e + 1 < b]
    return "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in gaps)


def _ascii_complement(ranges: str) -> str:
    """The same for a class of ASCII characters."""
    program = re.compile(f"[{ranges}]")
    without = [rf"\x{code:02x}" for code in range(128) if not program.match(chr(code))]
    return "".join([*without, r"\x80-\U0010ffff"])


@dataclasses.dataclass
class _Open:
    """A group of the pattern that is not closed yet.

    Attributes:
        lines: (?m) holds: "$" matches before each newline, too.
        flags: those as (?i), which hold to its end: separate groups in each alternative.
    """

    lines: bool
    flags: tuple[str, ...] = ()


class _Range(enum.Enum):
    """Meaning of a "-" in a class [..]: itself, that it may make a range, that a range is open."""

    NONE = enum.auto()
    BEGUN = enum.auto()
    OPEN = enum.auto()


class _Translation:
    """A pattern of RE2 in the syntax of re."""

    def __init__(self, pattern: bytes) -> None:
        self.pattern = pattern
        self.text = pattern.decode("utf-8", "surrogateescape")
        self.at = 0
        self.first = -1  # where the first character of an open class [..] stands
        self.range = _Range.NONE
        self.repeated = -1  # where the last repetition ends
        self.open = [_Open(False)]

    def result(self) -> str:
        parts: list[str] = []
        while self.at < len(self.text):
            group = _GROUP.match(self.text, self.at) if self.first < 0 else None
            token = group or _TOKEN.match(self.text, self.at)
            assert token is not None
            work = self._group if group else getattr(self, f"_{token.lastgroup}")
            begin = self.at
            self.at = token.end()
            parts.append(work(token, begin))
        return "".join(parts) + ")" * len(self.open[0].flags)

    def _bad(self, token: str) -> errors.InvalidArgumentError:
        return _invalid(self.pattern, f"{token!r} is not of RE2's syntax")

    def _set(self, ranges: str, token: str) -> str:
        if self.first < 0:
            return f"[{ranges}]"
        if self.range is _Range.OPEN:  # as in "[a-\d]"
            raise self._bad(token)
        self.range = _Range.NONE
        return ranges

    def _one(self, letter: str) -> str:
        """A character: in a class it begins a range, or ends one."""
        self.range = _Range.NONE if self.range is _Range.OPEN else _Range.BEGUN
        return letter

    def _quoted(self, token: re.Match[str], _: int) -> str:
        return re.escape(token["quoted"])

    def _unicode(self, token: re.Match[str], _: int) -> str:
        name = token["unicode"][1:].strip("{}")
        negated = (token["unicode"][0] == "P") != name.startswith("^")
        ranges = _categories().get(name.removeprefix("^"))
        if ranges is None:
            raise _invalid(
                self.pattern, f"{token[0]!r} names no general category; scripts are not known here"
            )
        if self.first < 0:
            return f"[^{ranges}]" if negated else f"[{ranges}]"
        return self._set(_complement(ranges) if negated else ranges, token[0])

    def _hex(self, token: re.Match[str], _: int) -> str:
        code = int(token["hex"], 16)
        if code > sys.maxunicode:
            raise self._bad(token[0])
        return self._one(rf"\U{code:08x}")

    def _byte(self, token: re.Match[str], _: int) -> str:
        return self._one(token[0])

    def _octal(self, token: re.Match[str], _: int) -> str:
        return self._one(rf"\U{int(token['octal'], 8):08x}")

    def _escaped(self, token: re.Match[str], _: int) -> str:
        letter = token["escaped"]
        if letter.lower() in _PERL:
            ranges = _PERL[letter.lower()]
            return self._set(_ascii_complement(ranges) if letter.isupper() else ranges, token[0])
        if letter in _OUTSIDE and self.first < 0:
            return _OUTSIDE[letter]
        if letter.isalnum() and letter not in "afnrtv":
            raise self._bad(token[0])
        return self._one(token[0])

    def _posix(self, token: re.Match[str], begin: int) -> str:
        if self.first < 0:  # a class that begins with a colon
            self.at = begin + 1
            return self._opened(begin)
        if self.range is _Range.OPEN:  # whose end is "["
            self.at = begin + 1
            return self._one(r"\[")
        name = token["posix"].removeprefix("^")
        if name not in _POSIX:
            raise self._bad(token[0])
        ranges = _POSIX[name]
        return self._set(ranges if name == token["posix"] else _ascii_complement(ranges), token[0])

    def _group(self, token: re.Match[str], _: int) -> str:
        flags = token["flags"]
        if token["name"] is not None:
            self.open.append(_Open(self.open[-1].lines))
            return f"(?P<{token['name']}>"
        if "U" in flags:
            raise _invalid(self.pattern, "the flag U is missing here; write '?' behind repetitions")
        on, _sign, off = flags.partition("-")
        lines = "m" in on or (self.open[-1].lines and "m" not in off)
        if token["end"] == ":":
            self.open.append(_Open(lines))
        else:
            self.open[-1] = _Open(lines, (*self.open[-1].flags, f"(?{flags}:"))
        return f"(?{flags}:"

    def _opened(self, begin: int) -> str:
        negated = self.text[self.at : self.at + 1] == "^"
        self.at += negated
        self.first, self.range = self.at, _Range.NONE
        return "[^" if negated else "["

    def _plain(self, token: re.Match[str], begin: int) -> str:
        letter = token[0]
        if self.first >= 0:
            return self._in_class(letter, begin)
        if letter == "[":
            return self._opened(begin)
        if letter == "(":
            return self._bracket(begin)
        if letter == ")" and len(self.open) > 1:
            return ")" * (len(self.open.pop().flags) + 1)
        if letter == "|":
            flags = self.open[-1].flags
            return "".join([")" * len(flags), "|", *flags])
        if letter in "*+?{":
            return self._repetition(letter, begin)
        return r"\Z" if letter == "$" and not self.open[-1].lines else letter

    def _in_class(self, letter: str, begin: int) -> str:
        if letter == "]" and begin > self.first:
            self.first = -1
            return letter
        ends = self.text[self.at : self.at + 1] in ("", "]")
        if letter == "-" and self.range is _Range.BEGUN and not ends:
            self.range = _Range.OPEN
            return letter
        return self._one(rf"\{letter}" if letter in "[]&~|-" else letter)

    def _repetition(self, letter: str, begin: int) -> str:
        found = _REPEAT.match(self.text, begin)
        if letter == "{" and not found:
            return r"\{"
        if found and any(int(n) > _MOST_REPEATED for n in re.findall(r"\d+", found[0])):
            raise _invalid(self.pattern, f"{found[0]} repeats more than {_MOST_REPEATED} times")
        if letter == "+" and begin == self.repeated:  # to re, one that gives nothing back
            raise self._bad(self.text[begin - 1 : begin + 1])
        self.repeated = found.end() if found else self.at
        return letter

    def _bracket(self, begin: int) -> str:
        if self.text[begin + 1 : begin + 2] == "?":
            raise self._bad(self.text[begin : begin + 3])
        self.open.append(_Open(self.open[-1].lines))
        return "("


@functools.lru_cache(maxsize=256)
def compiled(pattern: bytes) -> re.Pattern[str]:
    """The pattern, for strings of text_of.

    Raises:
        InvalidArgumentError: it is not a regular expression.
    """
    try:
        return re.compile(_Translation(pattern).result())
    except (re.error, OverflowError, RecursionError) as error:
        raise _invalid(pattern, str(error)) from None


def text_of(text: bytes) -> str:
    """Characters; a byte that is none stays one."""
    return text.decode("utf-8", "surrogateescape")


def full_match(pattern: bytes, text: bytes) -> bool:
    """Whether the complete text matches."""
    return compiled(pattern).fullmatch(text_of(text)) is not None


def _pieces(rewrite: bytes) -> list[str | int] | None:
    """Text and numbers of groups; None: a backslash precedes another character."""
    pieces: list[str | int] = []
    for token in re.finditer(r"\\(.?)|[^\\]+", text_of(rewrite), re.DOTALL):
        if not token[0].startswith("\\"):
            pieces.append(token[0])
        elif token[1] == "\\":
            pieces.append("\\")
        elif token[1] and token[1] in "0123456789":
            pieces.append(int(token[1]))
        else:
            return None
    return pieces


def replaced(pattern: bytes, rewrite: bytes, everywhere: bool, text: bytes) -> bytes:
    """The text with its first match, or all, rewritten; as it is where the rewrite asks for groups
    that the pattern has not.

    An empty match directly after a match is skipped.
    """
    program, pieces, given = compiled(pattern), _pieces(rewrite), text_of(text)
    if pieces is None or any(isinstance(p, int) and p > program.groups for p in pieces):
        return text
    parts: list[str] = []
    at, last = 0, -1
    while at <= len(given):
        match = program.search(given, at)
        if match is None:
            break
        begin, end = match.span()
        parts.append(given[at:begin])
        if begin == end == last:
            parts.append(given[at : at + 1])
            at += 1
            continue
        parts += [p if isinstance(p, str) else match[p] or "" for p in pieces]
        at = last = end
        if not everywhere:
            break
    parts.append(given[at:])
    return "".join(parts).encode("utf-8", "surrogateescape")
