"""Hyperparameters: named values with types, which a string can change."""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from graphio.schema.hparam_pb2 import HParamDef
from graphio.support import api_guard

__all__ = ["HParamDef", "HParams", "parse_values"]

#: one assignment of a string: a name, an index or none, a value or a list
_ASSIGNMENT = re.compile(
    r"(?P<name>[a-zA-Z][\w.]*)(?:\[\s*(?P<index>\d+)\s*\])?\s*=\s*"
    r"(?:(?P<value>[^,\[]*)|\[(?P<values>[^\]]*)\])(?:$|,\s*)"
)
_BOOLS = {"true": True, "True": True, "false": False, "False": False}


@api_guard.unguarded
def parse_values(
    values: str, type_map: Mapping[str, type], ignore_unknown: bool = False
) -> dict[str, Any]:
    """The values of a string such as "rate=0.1,layers=[10,20],widths[1]=3".

    Args:
        values: assignments, with commas between them.
        type_map: the names' types; bool, int, float and str, or other functions from a string.
        ignore_unknown: whether other names are skipped.

    Returns:
        The values by name; those that were assigned by index as a dict.

    Raises:
        ValueError: the string is malformed, a name is unknown or assigned twice, or a value is of
            another type.
    """
    found: dict[str, Any] = {}
    at = 0
    while at < len(values):
        match = _ASSIGNMENT.match(values, at)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
        at = match.end()
        name = match["name"]
        if name in type_map:
            _assign(found, match, type_map[name], values)
        elif not ignore_unknown:
            raise ValueError(f"Unknown hyperparameter type for {name}")
    return found


def _assign(found: dict[str, Any], match: re.Match[str], kind: type, values: str) -> None:
    name, index = match["name"], match["index"]
    parse: Callable[[str], Any] = _bool if kind is bool else kind
    text = match["values"] if match["value"] is None else match["value"]
    is_list = match["value"] is None
    if is_list and index is not None:
        raise ValueError("Assignment of a list to a list index.")
    try:
        parts = [part for part in re.split("[ ,]", text) if part] if is_list else [text]
        parsed = [parse(part) for part in parts]
    except ValueError:
        raise ValueError(
            f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{text}' in "
            f"{values}"
        ) from None
    if index is None:
        if name in found:
            raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
        found[name] = parsed if is_list else parsed[0]
        return
    kept = found.setdefault(name, {})
    if not isinstance(kept, dict) or int(index) in kept:
        again = f"{name}[{index}]" if isinstance(kept, dict) else name
        raise ValueError(f"Multiple assignments to variable '{again}' in {values}")
    kept[int(index)] = parsed[0]


def _bool(text: str) -> bool:
    return _BOOLS[text] if text in _BOOLS else bool(int(text))


def _cast(name: str, kind: type, value: Any) -> Any:
    """A value as the type of a hyperparameter, where that loses nothing."""
    if type(value) is kind or kind is type(None):
        return value
    strings = (str, bytes)
    refused = (
        (issubclass(kind, strings) and not isinstance(value, strings))
        or issubclass(kind, bool) != isinstance(value, bool)
        or (issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral))
        or (issubclass(kind, numbers.Number) and not isinstance(value, numbers.Number))
    )
    if refused:
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    return kind(value)


#: type of a hyperparameter -> the beginning of its field of HParamDef
_FIELDS: dict[type, str] = {int: "int64", float: "float", str: "bytes", bool: "bool"}


def _encoded(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _values_of(message: Any) -> dict[str, Any]:
    """The values of a HParamDef by name."""
    if not isinstance(message, HParamDef):
        raise TypeError(f"hparam_def is {type(message).__name__}, expected a HParamDef")
    found = {}
    for name, parameter in message.hparam.items():
        kind = parameter.WhichOneof("kind")
        if kind is None:
            raise ValueError(f"hparam_def: {name} has no value")
        value = getattr(parameter, kind)
        is_text = kind.startswith("bytes")
        if kind.endswith("_list"):
            found[name] = [one.decode() if is_text else one for one in value.value]
        else:
            found[name] = value.decode() if is_text else value
    return found


class HParams:
    """Hyperparameters, which are attributes.

    Args:
        hparam_def: a HParamDef with the values, instead of them.
        model_structure: any object, for get_model_structure.
        values: the hyperparameters by name; a list is one with several values of a type.

    Raises:
        ValueError: hparam_def and values are given, a name is that of another attribute, or a list
            is empty.
        TypeError: hparam_def is not a HParamDef.
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **values: Any) -> None:
        if hparam_def is not None and values:
            raise ValueError("hparam_def and initialization values are mutually exclusive")
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        given = values if hparam_def is None else _values_of(hparam_def)
        for name, value in given.items():
            self.add_hparam(name, value)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds a hyperparameter; its type is that of the value, or of a list's first one.

        Raises:
            ValueError: there is an attribute of the name, or a list is empty.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        is_list = isinstance(value, (list, tuple))
        if is_list and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._hparam_types[name] = (type(value[0] if is_list else value), is_list)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Changes a hyperparameter.

        Raises:
            KeyError: there is none of the name.
            ValueError: the value is of another type, or a list where it was none.
        """
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list) != is_list:
            what = (
                "Must pass a list for multi-valued"
                if is_list
                else ("Must not pass a list for single-valued")
            )
            raise ValueError(f"{what} parameter: {name}")
        cast = [_cast(name, kind, v) for v in (value if is_list else [value])]
        setattr(self, name, cast if is_list else cast[0])

    def del_hparam(self, name: str) -> None:
        """Removes a hyperparameter, if there is one of the name."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Changes hyperparameters by a string, see parse_values; gives itself.

        Raises:
            ValueError: as parse_values and set_hparam.
        """
        kinds = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, kinds))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Changes hyperparameters by name; gives itself.

        Raises:
            KeyError, ValueError: as set_hparam.
        """
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: Mapping[str, Any]) -> HParams:
        """The older name of override_from_dict."""
        return self.override_from_dict(values_map)

    def set_model_structure(self, model_structure: Any) -> None:
        """Keeps an object."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """The object of set_model_structure."""
        return self._model_structure

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """The hyperparameters as JSON; the arguments are json.dumps'."""
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """Changes hyperparameters by JSON; gives itself.

        Raises:
            KeyError, ValueError: as set_hparam; the string is not JSON.
        """
        return self.override_from_dict(json.loads(values_json))

    def to_proto(self, export_scope: str | None = None) -> HParamDef:
        """The hyperparameters as a HParamDef; floats are rounded to 32 bits.

        Args:
            export_scope: has no effect, as in TensorFlow.

        Raises:
            ValueError: a hyperparameter has no value, or one of another type.
        """
        found = HParamDef()
        for name, (kind, is_list) in self._hparam_types.items():
            value = getattr(self, name)
            if kind not in _FIELDS or value is None:
                raise ValueError(f"HParamDef takes no {kind.__name__}: {name} is {value!r}")
            plain = [_encoded(one) for one in (value if is_list else [value])]
            if is_list:
                getattr(found.hparam[name], f"{_FIELDS[kind]}_list").value.extend(plain)
            else:
                setattr(found.hparam[name], f"{_FIELDS[kind]}_value", plain[0])
        return found

    @staticmethod
    def from_proto(hparam_def: HParamDef, import_scope: str | None = None) -> HParams:
        """The hyperparameters of a HParamDef; import_scope has no effect."""
        return HParams(hparam_def=hparam_def)

    def values(self) -> dict[str, Any]:
        """The hyperparameters by name."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """A hyperparameter, or the default where there is none of the name.

        Raises:
            ValueError: the default is of another type.
        """
        if key not in self._hparam_types:
            return default
        if default is not None:
            kind, is_list = self._hparam_types[key]
            shown = f"list<{kind}>" if is_list else str(kind)
            wrong = f"Hparam '{key}' of type '{shown}' is incompatible with default={default}"
            if isinstance(default, list) != is_list:
                raise ValueError(wrong)
            try:
                for value in default if is_list else [default]:
                    _cast(key, kind, value)
            except ValueError as error:
                raise ValueError(f"{wrong}. {error}") from None
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"
