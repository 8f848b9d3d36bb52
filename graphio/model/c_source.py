"""C source for a model: a header with a function a signature, and a program that calls them."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphio.model.c_makefile import makefile
from graphio.model.describing import describe
from graphio.schema import container
from graphio.support import errors

__all__ = ["sources"]

#: element type to what C calls it, and cinfer's name of it
_TYPES = {
    "float32": ("float", "CI_FLOAT"),
    "float64": ("double", "CI_DOUBLE"),
    "int8": ("int8_t", "CI_INT8"),
    "int16": ("int16_t", "CI_INT16"),
    "int32": ("int32_t", "CI_INT32"),
    "int64": ("int64_t", "CI_INT64"),
    "uint8": ("uint8_t", "CI_UINT8"),
    "uint16": ("uint16_t", "CI_UINT16"),
    "uint32": ("uint32_t", "CI_UINT32"),
    "uint64": ("uint64_t", "CI_UINT64"),
    "bool": ("uint8_t", "CI_BOOL"),
    "float16": ("uint16_t", "CI_FLOAT16"),
    "bfloat16": ("uint16_t", "CI_BFLOAT16"),
}
_WORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while bool true false main session error status inputs outputs "
    "errno EOF NULL".split()
)


def sources(data: bytes, name: str, file: str, embed: bool = False) -> dict[str, str]:
    """The files.

    Args:
        data: bytes of a model file.
        name: prefix of files and functions, in ASCII: accents are lost, other letters left out, and
            "model" stands for a name of which nothing is left.
        file: what the program opens if it is given no other.
        embed: True puts the model into a third file, as an array; the program opens that.

    Returns:
        Name of each file to its text: `<name>.h`, `<name>_example.c`, perhaps `<name>_model.c`,
        and `<name>.mk`, which builds the program.

    Raises:
        InvalidArgumentError: no signature has inputs and outputs that are tensors of numbers.
    """
    model, _ = container.unpack(data, lazy=True)
    prefix = _identifier(name, (), "model")
    taken: list[str] = []
    functions, refused = [], []
    for number, facts in enumerate(describe(model)["signatures"]):
        try:
            functions.append(_Function(prefix, number, facts, taken))
        except ValueError as error:
            refused.append(f"signature '{facts['name']}': {error}")
    if not functions:
        raise errors.InvalidArgumentError(
            message="; ".join(refused) or "the model has no signatures"
        )
    made = {
        f"{prefix}.h": _header(prefix, file, functions, refused, embed),
        f"{prefix}_example.c": _example(prefix, file, functions, embed),
    }
    if embed:
        made[f"{prefix}_model.c"] = _array(prefix, file, data)
    made[f"{prefix}.mk"] = makefile(prefix, list(made))
    return made


def _in_ascii(text: str) -> str:
    """A name without what ASCII lacks: letters lose their accents, others are left out."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return plain.strip("_-. ")


def _identifier(text: str, taken: Iterable[str], other: str = "value") -> str:
    """A valid C identifier that is not taken; `other` where nothing of the text is left."""
    base = re.sub(r"\W", "_", _in_ascii(text), flags=re.ASCII) or other
    base = f"_{base}"[base[0].isalpha() or base[0] == "_" :]
    if base in _WORDS or keyword.iskeyword(base):
        base += "_"
    found, number = base, 2
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    return found


@dataclass(frozen=True)
class _Argument:
    """An input or output of a function.

    Attributes:
        name: in C.
        key: in the signature.
        kind: C's element type.
        dtype: cinfer's name of it.
        dims: C expressions; None: only a run knows the shape.
    """

    name: str
    key: str
    kind: str
    dtype: str
    dims: tuple[str, ...] | None


class _Function:
    """A signature as a function.

    Attributes:
        name, number, doc: in C, in the model, in words.
        sizes: parameters that are dimensions.
        inputs, outputs: the tensors.
    """

    def __init__(
        self, prefix: str, number: int, facts: Mapping[str, Any], taken: list[str]
    ) -> None:
        key = _in_ascii(facts["name"]) or f"signature{number}"
        self.name = _identifier(f"{prefix}_{key}", taken)
        taken.append(self.name)
        self.number, self.key = number, facts["name"]
        self.sizes: dict[str, str] = {}
        self._names: list[str] = []
        self.inputs = [self._argument(row, True) for row in facts["inputs"]]
        self.outputs = [self._argument(row, False) for row in facts["outputs"]]

    def _argument(self, row: Mapping[str, Any], feeds: bool) -> _Argument:
        if row["type"] not in _TYPES:
            raise ValueError(f"'{row['name']}' is {row['type']}, use ci_run itself")
        name = _identifier(row["name"], self._names, "input" if feeds else "output")
        self._names.append(name)
        return _Argument(
            name, row["name"], *_TYPES[row["type"]], self._dims(name, row["shape"], feeds)
        )

    def _dims(self, name: str, shape: Any, feeds: bool) -> tuple[str, ...] | None:
        """A dimension that is not known is a parameter; an output's must be one of the inputs'."""
        if shape is None:
            if feeds:
                raise ValueError(f"the rank of '{name}' is not known, use ci_run itself")
            return None
        dims = []
        for axis, size in enumerate(shape):
            if isinstance(size, int):
                dims.append(str(size))
            elif size in self.sizes:
                dims.append(self.sizes[size])
            elif feeds:
                dims.append(self._size(size or f"{name}_dim{axis}"))
            else:
                return None
        return tuple(dims)

    def _size(self, symbol: str) -> str:
        name = _identifier(symbol, self._names, "size")
        self._names.append(name)
        self.sizes[symbol] = name
        return name

    def parameters(self) -> str:
        """Between the brackets of the prototype."""
        parts = ["ci_session *session", *(f"int64_t {name}" for name in self.sizes.values())]
        parts += [f"const {a.kind} *{a.name}" for a in self.inputs]
        parts += [
            f"ci_tensor *{a.name}" if a.dims is None else f"{a.kind} *{a.name}"
            for a in self.outputs
        ]
        return ", ".join([*parts, "ci_error *error"])


def _tensor(argument: _Argument) -> str:
    """An initialiser of a ci_tensor."""
    dims = argument.dims or ()
    count = " * ".join(f"(size_t){dim}" for dim in dims) or "1"
    data = f"(void *){argument.name}"
    shape = f", {{{', '.join(dims) or '0'}}}"
    return f"{{{data}, {count} * sizeof *{argument.name}, {argument.dtype}, {len(dims)}{shape}}}"


def _function(function: _Function) -> str:
    inputs = ",\n                       ".join(_tensor(a) for a in function.inputs)
    lines = [f"static inline ci_status {function.name}({function.parameters()}) {{"]
    counts = len(function.inputs), len(function.outputs)
    taken = "NULL"
    if function.inputs:
        lines.append(f"  ci_tensor inputs[] = {{{inputs}}};")
        taken = "inputs"
    given = "NULL"
    if function.outputs:
        cells = [f"*{a.name}" if a.dims is None else _tensor(a) for a in function.outputs]
        joined = ",\n                        ".join(cells)
        lines.append(f"  ci_tensor outputs[] = {{{joined}}};")
        given = "outputs"
    call = f"ci_run(session, {function.number}, {taken}, {counts[0]}, {given}, {counts[1]}, error)"
    lines.append(f"  const ci_status status = {call};")
    for i, argument in enumerate(function.outputs):
        if argument.dims is None:
            lines.append(f"  *{argument.name} = outputs[{i}];")
    return "\n".join([*lines, "  return status;", "}"])


def _doc(function: _Function) -> str:
    """The usage notes for a caller, as a comment."""
    lines = [f"/* Runs the signature '{_comment(function.key)}'."]
    for way, arguments in (("input", function.inputs), ("output", function.outputs)):
        for a in arguments:
            shape = "of a shape that the run tells" if a.dims is None else f"[{', '.join(a.dims)}]"
            lines.append(f" * {way} {a.name}: {a.kind} {shape}")
    if any(a.dims is None for a in function.outputs):
        lines.append(
            " * A ci_tensor of zeros becomes a view of the result, valid until the next run."
        )
    return "\n".join(lines) + " */"


def _comment(text: str) -> str:
    """Text that cannot end a comment or a literal."""
    return "".join(c if c.isalnum() or c in " _-.:[](),=" else "?" for c in text)


def _header(
    prefix: str, file: str, functions: list[_Function], refused: list[str], embed: bool
) -> str:
    guard = f"{prefix.upper()}_H"
    parts = [
        f"/* {prefix}.h - {_comment(file)} in C; made by `graphio export-c`. */",
        f'#ifndef {guard}\n#define {guard}\n#include <stdint.h>\n#include "cinfer.h"',
    ]
    if embed:
        parts.append(
            f"extern const uint8_t {prefix}_model[];\nextern const size_t {prefix}_model_size;"
        )
    parts += [f"/* Left out: {_comment(text)} */" for text in refused]
    for function in functions:
        parts.append(f"{_doc(function)}\n{_function(function)}")
    return "\n\n".join([*parts, "#endif"]) + "\n"


def _example(prefix: str, file: str, functions: list[_Function], embed: bool) -> str:
    function = functions[0]
    names = [*function.sizes.values()]
    body = [f"  const int64_t {name} = 1;" for name in names]
    body += [_buffer(a) for a in function.inputs]
    body += [
        _buffer(a) if a.dims is not None else f"  ci_tensor {a.name} = {{0}};"
        for a in function.outputs
    ]
    made = [a.name for a in (*function.inputs, *function.outputs) if a.dims is not None]
    passed = [f"&{a.name}" if a.dims is None else a.name for a in function.outputs]
    arguments = ", ".join(
        ["session", *names, *(a.name for a in function.inputs), *passed, "&error"]
    )
    checks = "".join(f"!{name} || " for name in made).removesuffix(" || ") or "0"
    shown = [_show(a) for a in function.outputs]
    opened = (
        f"ci_open_memory({prefix}_model, {prefix}_model_size, NULL, &model, &error)"
        if embed
        else f'ci_open(argc > 1 ? argv[1] : "{_comment(file)}", NULL, &model, &error)'
    )
    unused = "  (void)argc, (void)argv;\n" if embed else ""
    lines = "\n".join(body)
    frees = "\n".join(f"  free({name});" for name in made)
    return f"""/* {prefix}_example.c - runs {function.name} on zeros.
 *
 *   make -f {prefix}.mk
 */
#include <stdio.h>
#include <stdlib.h>

#include "{prefix}.h"

static int failed(const ci_error *error) {{
  fprintf(stderr, "%s: %s\\n", ci_status_name(error->status), error->message);
  return 1;
}}

static int example(ci_session *session) {{
  ci_error error;
  int result = 1;
{lines}
  if ({checks}) {{
    fprintf(stderr, "no memory\\n");
  }} else if ({function.name}({arguments}) != CI_OK) {{
    failed(&error);
  }} else {{
    result = 0;
{chr(10).join("  " + line for line in shown)}
  }}
{frees}
  return result;
}}

int main(int argc, char **argv) {{
  ci_model *model;
  ci_session *session;
  ci_error error;
{unused}  if ({opened} != CI_OK) return failed(&error);
  const ci_status opened = ci_session_open(model, NULL, NULL, &session, &error);
  const int result = opened == CI_OK ? example(session) : failed(&error);
  ci_session_close(session);
  ci_close(model);
  return result;
}}
"""


def _buffer(argument: _Argument) -> str:
    count = " * ".join(f"(size_t){dim}" for dim in argument.dims or ()) or "1"
    return f"  {argument.kind} *{argument.name} = calloc({count}, sizeof *{argument.name});"


def _show(argument: _Argument) -> str:
    if argument.dims is None:
        first = f"((const {argument.kind} *){argument.name}.data)[0]"
        return (
            f"  if ({argument.name}.bytes > 0) "
            f'printf("{argument.name}: %g ...\\n", (double){first});'
        )
    return f'  printf("{argument.name}: %g ...\\n", (double)*{argument.name});'


def _array(prefix: str, file: str, data: bytes) -> str:
    """The file's bytes, aligned as a mapped file would be."""
    lines = [
        "  " + "".join(f"{byte}," for byte in data[at : at + 32]) for at in range(0, len(data), 32)
    ]
    bytes_of = "\n".join(lines)
    return f"""/* {prefix}_model.c - the bytes of {_comment(file)}; made by `graphio export-c`. */
#include <stddef.h>
#include <stdint.h>

extern const uint8_t {prefix}_model[];
extern const size_t {prefix}_model_size;
_Alignas(64) const uint8_t {prefix}_model[] = {{
{bytes_of}
}};
const size_t {prefix}_model_size = sizeof {prefix}_model;
"""
