"""tf.flags: options of a program's command line.

A small custom parser with absl's rules (`--name=value`, `--name value`, `-name`, `--noname`,
`--` ends): they are what programs were written for, argparse's differ, and absl would be a
dependency of all programs for the sake of those that have flags.
"""

from __future__ import annotations

import difflib
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

__all__ = [
    "DEFINE",
    "FLAGS",
    "DEFINE_alias",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_multi_float",
    "DEFINE_multi_integer",
    "DEFINE_multi_string",
    "DEFINE_spaceseplist",
    "DEFINE_string",
    "DuplicateFlagError",
    "Error",
    "FlagValues",
    "IllegalFlagValueError",
    "UnparsedFlagAccessError",
    "UnrecognizedFlagError",
    "ValidationError",
    "mark_flag_as_required",
    "mark_flags_as_required",
    "register_validator",
]  # fmt: skip


_Define = TypeVar("_Define", bound=Callable[..., None])

#: arguments by their names before TensorFlow 1.5
_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


class Error(Exception):
    """The base of this module's errors."""


class DuplicateFlagError(Error):
    """Two flags of one name."""


class IllegalFlagValueError(Error):
    """A value that the flag does not take."""


class UnrecognizedFlagError(Error):
    """There is no flag of the name."""


class UnparsedFlagAccessError(Error):
    """A flag was read before the command line was."""


class ValidationError(Error):
    """A value that a validator refuses."""


class Flag:
    """One option.

    Attributes:
        name, value, default, help: as defined; present: how often the command line gave it.
    """

    def __init__(
        self, name: str, default: Any, help: str, parse: Callable[[Any], Any], kind: str
    ) -> None:
        self.name, self.help, self.kind = name, help, kind
        self._parse = parse
        self.default = None if default is None else self.parsed(default)
        self.value = self.default
        self.present = 0

    def parsed(self, value: Any) -> Any:
        """The value of a string, or of a value of the right type."""
        try:
            return self._parse(value)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={value}: {error}") from None

    def take(self, text: str) -> None:
        """Sets the value that the command line gives; a flag for several gathers them."""
        value = self.parsed(text)
        if self.kind.startswith("multi"):
            value = [*(self.value or []), *value] if self.present else value
        self.value = value
        self.present += 1


class FlagValues:
    """The flags by name: FLAGS.name is a value, FLAGS["name"] the flag.

    The first reading of a value parses the command line (sys.argv) if nothing has; so does a call
    with a list of arguments.
    """

    def __init__(self) -> None:
        flags: dict[str, Flag] = {}
        self.__dict__.update(_flags=flags, _parsed=False, _validators=[], _required=set())
        self.__dict__.update({"_aliases": {}, "__flags": flags})  # programs print FLAGS.__flags

    # ---- reading and setting ----

    def __getattr__(self, name: str) -> Any:
        if "_flags" not in self.__dict__:  # pickle asks before it has given the attributes
            raise AttributeError(name)
        flags: dict[str, Flag] = self.__dict__["_flags"]
        key = self._aliases.get(name, name)
        if name.startswith("__") or key not in flags:
            raise AttributeError(name)
        if not self._parsed:
            self(sys.argv, known_only=True)
        return flags[key].value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            self.__dict__[name] = value
            return
        key = self._aliases.get(name, name)
        if key not in self._flags:
            raise AttributeError(f"there is no flag {name!r}; define it with tf.flags.DEFINE_...")
        self._flags[key].value = value
        self._validate(key)

    def __delattr__(self, name: str) -> None:
        if name not in self._flags:
            raise AttributeError(name)
        del self._flags[name]

    def __getitem__(self, name: str) -> Flag:
        found: Flag = self._flags[name]
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._flags))

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted(self._flags)

    def flag_values_dict(self) -> dict[str, Any]:
        """All values by name."""
        return {name: self._flags[name].value for name in self}

    def set_default(self, name: str, value: Any) -> None:
        """Another default; also the value, unless the command line gave one."""
        flag = self[name]
        flag.default = None if value is None else flag.parsed(value)
        if not flag.present:
            flag.value = flag.default

    def is_parsed(self) -> bool:
        """Whether the command line was read."""
        return bool(self._parsed)

    def mark_as_parsed(self) -> None:
        """From now on values are as they are."""
        self._parsed = True

    def unparse_flags(self) -> None:
        """The next reading of a value reads the command line."""
        self._parsed = False

    # ---- the command line ----

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Reads a command line; argv[0] is the program.

        Args:
            argv: the arguments.
            known_only: leaves flags that are not defined among the rest.

        Returns:
            The arguments that are not flags, the program's name first.

        Raises:
            UnrecognizedFlagError, IllegalFlagValueError, ValidationError.
        """
        if isinstance(argv, (str, bytes)) or not argv:
            raise TypeError("argv should be a list of the program's name and its arguments")
        rest, pending = [argv[0]], list(argv[1:])
        while pending:
            argument = pending.pop(0)
            if argument == "--":
                rest.extend(pending)
                break
            if not argument.startswith("-") or argument == "-":
                rest.append(argument)
            elif not self._take(argument, pending):
                if not known_only:
                    raise UnrecognizedFlagError(self._unknown(argument))
                rest.append(argument)
        self._parsed = True
        self._validate(None)
        return rest

    def _parse_flags(self) -> None:
        """Reads the program's command line; programs for TensorFlow before 1.5 call it."""
        self(sys.argv, known_only=True)

    def _take(self, argument: str, pending: list[str]) -> bool:
        """Sets the flag of an argument; False if there is none."""
        name, given, value = argument.lstrip("-").partition("=")
        name = self._aliases.get(name, name)
        positive = name.removeprefix("no")
        if name not in self._flags and positive in self._flags and positive != name:
            if self._flags[positive].kind == "bool" and not given:
                self._flags[positive].take("false")
                return True
        flag = self._flags.get(name)
        if flag is None:
            return False
        if not given:
            if flag.kind == "bool":
                value = "true"
            elif pending:
                value = pending.pop(0)
            else:
                raise IllegalFlagValueError(f"Missing value for flag --{name}")
        flag.take(value)
        return True

    def _unknown(self, argument: str) -> str:
        name = argument.lstrip("-").partition("=")[0]
        close = difflib.get_close_matches(name, list(self._flags))
        hint = f". Did you mean: {', '.join(close)} ?" if close else ""
        return f"Unknown command line flag '{name}'{hint}"

    def _validate(self, changed: str | None) -> None:
        for name, check, message in self._validators:
            if changed in (None, name) and not check(self._flags[name].value):
                raise ValidationError(f"flag --{name}={self._flags[name].value}: {message}")
        missing = [n for n in sorted(self._required) if self._flags[n].value is None]
        if changed is None and missing:
            raise ValidationError(
                f"flag --{missing[0]}=None: Flag --{missing[0]} must have a value."
            )

    def get_help(self) -> str:
        """The flags and their help, as readable lines."""
        lines = []
        for name in self:
            flag = self._flags[name]
            word = f"--[no]{name}" if flag.kind == "bool" else f"--{name}"
            lines.append(f"  {word}: {flag.help}")
            lines.append(f"    (default: {flag.default!r}; {flag.kind})")
        return "\n".join(lines)


#: the flags of this program
FLAGS = FlagValues()


# ---- defining ----


def DEFINE(parse: Callable[[Any], Any], name: str, default: Any, help: str, kind: str = "") -> None:
    """Defines a flag whose value parse makes of a string."""
    if name in FLAGS:
        raise DuplicateFlagError(
            f"The flag '{name}' is defined twice; the first one is for: {FLAGS[name].help}"
        )
    FLAGS._flags[name] = Flag(name, default, help, parse, kind or "a value")


def _boolean(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "t", "1", "false", "f", "0"):
        return value.lower() in ("true", "t", "1")
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise ValueError(f"Non-boolean argument to boolean flag: {value!r}")


def _integer(value: Any) -> int:
    if isinstance(value, str):
        return int(value, 0)
    if isinstance(value, bool) or value % 1 != 0:  # also of infinity
        raise TypeError(f"Expect argument to be a string or int, found {value!r}")
    return int(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"flag value must be a string, found {value!r}")
    return value


def _between(parse: Callable[[Any], Any], low: Any, high: Any) -> Callable[[Any], Any]:
    def bounded(value: Any) -> Any:
        found = parse(value)
        if (low is not None and found < low) or (high is not None and found > high):
            raise ValueError(f"{found} is not in the range [{low}, {high}]")
        return found

    return bounded


def _several(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def listed(value: Any) -> list[Any]:
        return [parse(v) for v in value] if isinstance(value, (list, tuple)) else [parse(value)]

    return listed


def _old_names(define: _Define) -> _Define:
    """The function, which takes its arguments by their old names, too."""

    @functools.wraps(define)
    def defined(*arguments: Any, **named: Any) -> None:
        define(*arguments, **{_OLD_NAMES.get(key, key): value for key, value in named.items()})

    return cast(_Define, defined)


@_old_names
def DEFINE_string(name: str, default: str | None, help: str, **ignored: Any) -> None:
    """A flag for a string."""
    DEFINE(_string, name, default, help, "a string")


@_old_names
def DEFINE_boolean(name: str, default: Any, help: str, **ignored: Any) -> None:
    """A flag for a bool: --name, --noname, --name=true ..."""
    DEFINE(_boolean, name, default, help, "bool")


DEFINE_bool = DEFINE_boolean


@_old_names
def DEFINE_integer(
    name: str, default: int | None, help: str, lower_bound: Any = None, upper_bound: Any = None,
    **ignored: Any,
) -> None:  # fmt: skip
    """A flag for an integer, also hexadecimal, within bounds."""
    DEFINE(_between(_integer, lower_bound, upper_bound), name, default, help, "an integer")


@_old_names
def DEFINE_float(
    name: str, default: float | None, help: str, lower_bound: Any = None, upper_bound: Any = None,
    **ignored: Any,
) -> None:  # fmt: skip
    """A flag for a float, within bounds."""
    DEFINE(_between(float, lower_bound, upper_bound), name, default, help, "a number")


def DEFINE_enum(
    name: str, default: str | None, enum_values: Sequence[str], help: str, **ignored: Any
) -> None:
    """A flag for one of several strings."""
    values = list(enum_values)

    def one_of(value: Any) -> str:
        if value not in values:
            raise ValueError(f"value should be one of <{'|'.join(values)}>")
        return str(value)

    DEFINE(one_of, name, default, help, f"<{'|'.join(values)}>")


def DEFINE_list(name: str, default: Any, help: str, **ignored: Any) -> None:
    """A flag for a list of strings with commas between them."""

    def split(value: Any) -> list[str]:
        if not isinstance(value, str):
            return list(value)
        return [part.strip() for part in value.split(",")] if value else []

    DEFINE(split, name, default, help, "a comma separated list")


def DEFINE_spaceseplist(name: str, default: Any, help: str, **ignored: Any) -> None:
    """A flag for a list of strings with spaces between them."""
    split = lambda value: value.split() if isinstance(value, str) else list(value)  # noqa: E731
    DEFINE(split, name, default, help, "a list separated by spaces")


def DEFINE_multi_string(name: str, default: Any, help: str, **ignored: Any) -> None:
    """A flag that may be given several times; the value is a list of strings."""
    DEFINE(_several(_string), name, default, help, "multi string")


def DEFINE_multi_integer(name: str, default: Any, help: str, **ignored: Any) -> None:
    """A flag that may be given several times; the value is a list of integers."""
    DEFINE(_several(_integer), name, default, help, "multi int")


def DEFINE_multi_float(name: str, default: Any, help: str, **ignored: Any) -> None:
    """A flag that may be given several times; the value is a list of floats."""
    DEFINE(_several(float), name, default, help, "multi float")


def DEFINE_alias(name: str, original_name: str, **ignored: Any) -> None:
    """Another name for a flag."""
    FLAGS._aliases[name] = original_name


def mark_flag_as_required(flag_name: str, flag_values: Any = None) -> None:
    """The flag must have a value when the command line was read."""
    if flag_name not in FLAGS:
        raise AttributeError(f"there is no flag {flag_name!r}")
    FLAGS._required.add(flag_name)


def mark_flags_as_required(flag_names: Sequence[str], flag_values: Any = None) -> None:
    """Each of the flags must have a value when the command line was read."""
    for name in flag_names:
        mark_flag_as_required(name)


def register_validator(
    flag_name: str,
    checker: Callable[[Any], bool],
    message: str = "Flag validation failed",
    flag_values: Any = None,
) -> None:
    """The flag's values must satisfy a function."""
    FLAGS._validators.append((flag_name, checker, message))
