"""The bodies of `:predict`: rows ("instances") or columns ("inputs")."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphio.serving import array_json, json_arrays
from graphio.serving.failures import invalid
from graphio.serving.json_arrays import shown
from graphio.serving.servable import Entry, Servable

__all__ = ["read", "signature_of", "write"]

Array = np.ndarray[Any, Any]
_ROWS, _COLUMNS = "instances", "inputs"
_BINARY = "_bytes"  # the names of outputs whose strings are bytes end so


def signature_of(request: Mapping[str, Any], servable: Servable) -> Entry:
    """The signature that a request names, or the default one.

    Raises:
        InvalidArgumentError: the name is not a string, or there is no such signature.
    """
    name = request.get("signature_name", "")
    if type(name) is not str:
        raise invalid(
            f"JSON Value: {shown(request)} not formatted correctly. 'signature_name' key must be "
            "a string value."
        )
    return servable.entry(name)


def read(request: Mapping[str, Any], entry: Entry) -> tuple[dict[str, Array], bool]:
    """The tensors of a request.

    Args:
        request: the body as parsed.
        entry: the signature.

    Returns:
        Arrays by the names of the inputs, and whether they came in rows.

    Raises:
        InvalidArgumentError: neither or both forms; an element of the wrong type; lists of
            different lengths; missing or unknown names.
        UnimplementedError: a type that has no form in JSON.
    """
    if _ROWS in request and _COLUMNS in request:
        raise invalid(
            f"JSON Value: {shown(request)} Not formatted correctly expecting only one of "
            f"'{_COLUMNS}' or '{_ROWS}' keys to exist"
        )
    if _ROWS in request:
        return _rows(request[_ROWS], entry), True
    if _COLUMNS in request:
        return _columns(request[_COLUMNS], entry), False
    raise invalid(f"Missing '{_COLUMNS}' or '{_ROWS}' key")


def _rows(rows: Any, entry: Entry) -> dict[str, Array]:
    if type(rows) is not list:
        raise invalid(f"JSON Value: {shown(rows)} Expecting '{_ROWS}' to be an list/array")
    if not rows:
        raise invalid(f"No values in '{_ROWS}' array")
    objects = [_is_object(row) for row in rows]
    if not any(objects):
        key = _only(entry, "instances is a plain list, but expecting list of objects")
        return {key: _tensor(entry, key, rows)}
    if not all(objects):
        at = objects.index(not objects[0])
        found, expected = ("value", "object") if objects[0] else ("object", "value/list")
        raise invalid(f"Expecting {expected} but got {found} at item {at} of input list")
    for at, row in enumerate(rows):
        if row.keys() != entry.inputs.keys():
            raise invalid(
                f"Failed to process element: {at} of '{_ROWS}' list. JSON object: {shown(row)} "
                f"keys must be equal to: {','.join(sorted(entry.inputs))}"
            )
    return {key: _tensor(entry, key, [row[key] for row in rows]) for key in entry.inputs}


def _columns(columns: Any, entry: Entry) -> dict[str, Array]:
    if not _is_object(columns):
        key = _only(entry, "inputs is a plain value/list, but expecting an object")
        return {key: _tensor(entry, key, columns)}
    for key in entry.inputs:
        if key not in columns:
            raise invalid(f"Missing named input: {key} in '{_COLUMNS}' object.")
    return {key: _tensor(entry, key, value) for key, value in columns.items()}


def _is_object(value: Any) -> bool:
    """Whether it has tensors by name; {"b64": ...} is a value."""
    return type(value) is dict and not json_arrays.is_binary(value)


def _only(entry: Entry, problem: str) -> str:
    """The name of a signature's only input.

    Raises:
        InvalidArgumentError: it has several, or none.
    """
    if len(entry.inputs) != 1:
        names = ", ".join(entry.inputs) or "none"
        raise invalid(f"{problem} as signature '{entry.name}' has the inputs {names}")
    return next(iter(entry.inputs))


def _tensor(entry: Entry, key: str, value: Any) -> Array:
    spec, what = entry.tensor(key), f"input '{key}'"
    shape, values = json_arrays.leaves(value, what)
    return json_arrays.array(shape, values, spec.dtype, what)


def write(results: Mapping[str, Array], rows: bool) -> bytes:
    """The answer: one output without its name, several by name.

    Args:
        results: by name.
        rows: in rows, as the request was.

    Raises:
        InvalidArgumentError: rows of outputs that have none, or different numbers of them.
        UnimplementedError: a type that has no form in JSON.
    """
    if not rows:
        parts = {key: _text(key, array) for key, array in results.items()}
        value = _object(parts) if len(parts) != 1 else parts.popitem()[1]
        return f'{{"outputs": {value}}}'.encode()
    _check_rows(results)
    if len(results) == 1:
        ((key, array),) = results.items()
        return f'{{"predictions": {_text(key, array)}}}'.encode()
    columns = [array_json.rows_of(v, *_form(key)) for key, v in results.items()]
    objects = [_object(dict(zip(results, row, strict=True))) for row in zip(*columns, strict=True)]
    return f'{{"predictions": [{", ".join(objects)}]}}'.encode()


def _text(key: str, value: Array) -> str:
    return array_json.text_of(value, *_form(key))


def _form(key: str) -> tuple[str, bool]:
    """An output in messages, and whether its strings are bytes."""
    return f"output '{key}'", key.endswith(_BINARY)


def _object(parts: Mapping[str, str]) -> str:
    pairs = (f"{array_json.quoted(key)}: {text}" for key, text in parts.items())
    return f"{{{', '.join(pairs)}}}"


def _check_rows(results: Mapping[str, Array]) -> None:
    for key, value in results.items():
        if not value.ndim:
            raise invalid(
                f"Tensor name: {key} has no shape information: it is a scalar, so it has no rows; "
                f"send '{_COLUMNS}'"
            )
    sizes = {key: value.shape[0] for key, value in results.items()}
    for (_, before), (key, size) in itertools.pairwise(sizes.items()):
        if before != size:
            raise invalid(
                f"Tensor name: {key} has inconsistent batch size: {size} expecting: {before}; send "
                f"'{_COLUMNS}'"
            )
