"""Model files whose checksums are right and whose content is not: one that has every message, and
what makes others of it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from schema_samples import model, node, pair, tensor_type

from graphio.schema import container
from graphio.schema import model_pb2 as pb
from graphio.schema.crc32c import crc32c

Array = np.ndarray[Any, Any]
MAGIC = b"\x89GIO\r\n\x1a\n"
VARINT, BYTES = 0, 2
FIXED = {1: 8, 5: 4}  # length of the wire types that have one


def rich() -> pb.Model:
    """A model that loads, with each message and each kind of attribute that the C library reads."""
    made = container.unpack(container.pack(*model()))[0]
    made.resource.add(name="blob").blob.data = b"b"
    made.resource.add(name="random").generator.state.counter = 3
    made.resource[1].generator.seeded = True
    made.resource[1].generator.key = 5
    made.variable.add(name="w/m", dtype=1, slot_of="w", slot="m").shape.dim.add(symbol="n")
    inner = pb.Graph(node=[node("Relu", "deep", "x", version=6)], output=["deep"], capture=["x"])
    then = pb.Graph(output=["both"], capture=["cond", "x"], target=["both"])
    then.node.append(node("If", "both", "cond"))
    for key in ("else_branch", "then_branch"):
        branch = then.node[0].attr.add(key=key).value.g
        branch.CopyFrom(inner)
        branch.node[0].name = branch.output[0] = f"deep_{key}"
    other = pb.Graph(output=["x"], capture=["x"])
    made.graph.node.append(node("Constant", "cond", value={"t": {"dtype": 9, "data": b"\1"}}))
    branches = {"else_branch": {"g": other}, "then_branch": {"g": then}}
    made.graph.node.append(node("If", "if", "cond", **branches))
    made.graph.node[-1].control_input.append("c")
    body = pb.Graph(
        input=[pb.Argument(name=n) for n in ("i", "go", "h")],
        node=[node("Tanh", "h2", "h", version=6)],
        output=["go", "h2"],
    )
    body.input[2].type.CopyFrom(tensor_type(None, 20))
    made.graph.node.append(node("Loop", "loop", "", "", "y", body={"g": body}))
    made.function.append(pair())
    call = node("Pair", "pair", "y", "xw", domain="mine", k={"f": 2.0})
    call.output_type.add()
    made.graph.node.append(call)
    made.graph.node.append(_strange())
    signature = made.signature[0]
    signature.input[0].type.tensor.shape.dim[0].symbol = "batch"
    signature.target.append("if")
    signature.output.add(key="s", value="pair:1", type=tensor_type(None, 20))
    return made


def _strange() -> pb.Node:
    """A node that no other node needs, with attributes of the kinds that the others lack."""
    held = pb.Type()
    held.optional.sequence.CopyFrom(tensor_type(2, None))
    return node(
        "Strange",
        "strange",
        domain="mine",
        double={"d": 0.5},
        floats={"floats": {"f": [1, 2]}},
        ints={"ints": {"i": [1, 300]}},
        packed={"t": {"dtype": 22, "dims": [2], "data": b"\x11"}},
        strings={"strings": {"s": [b"a", b"b"]}},
        text={"s": b"t"},
        type={"type": held},
    )


def arrays() -> list[Array]:
    """The tensors of rich()."""
    return model()[1]


def packed(made: pb.Model) -> bytes:
    """The file of a changed rich(); entries of Model.tensor are those of the model."""
    data = stored(made)
    return file(made.SerializeToString(deterministic=True), data)


def stored(made: pb.Model) -> bytes:
    """The data section of a changed rich()."""
    data = container.pack(made, arrays(), filled=False)
    start, size = struct.unpack_from("<QQ", data, 24)
    return data[start : start + size]


def file(message: bytes, data: bytes = b"", padding: bytes | None = None, **header: int) -> bytes:
    """A container with right checksums around any bytes.

    Args:
        message: of the graph section.
        data: of the data section.
        padding: between them; None: zeros up to a multiple of 64.
        header: fields that shall be other than they are, by name.
    """
    if padding is None:
        padding = bytes(-(64 + len(message)) % 64)
    fields = {
        "major": 1, "minor": 0, "flags": 0, "length": len(message),
        "start": 64 + len(message) + len(padding), "size": len(data), "crc": crc32c(message),
        "reserved": 0,
    }  # fmt: skip
    fields.update(header)
    head = struct.pack("<8sHHIQQQIQQ", MAGIC, *fields.values(), 0)
    return head + struct.pack("<I", crc32c(head)) + message + padding + data


# ---- bytes of messages ----


def varint(number: int) -> bytes:
    """As protobuf has it."""
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


def fields(message: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Number, wire type, start and end of each field; the end is that of its content."""
    at = 0
    while at < len(message):
        start = at
        key, at = _read_varint(message, at)
        if key & 7 == VARINT:
            at = _read_varint(message, at)[1]
        elif key & 7 == BYTES:
            length, at = _read_varint(message, at)
            at += length
        else:
            at += FIXED[key & 7]
        yield key >> 3, key & 7, start, at


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


Change = Callable[[str, Any, bytes], bytes | None]


def changed(
    message: bytes, descriptor: Any, change: Change, path: str = ""
) -> Iterator[tuple[str, bytes]]:
    """The message with itself or one thing inside of it changed, again and again.

    Args:
        message: its bytes.
        descriptor: of its type.
        change: gives other bytes, or None, for a path like "Model.graph.node", the descriptor of
            a field (None: the message itself) and the bytes of a message or of a packed list there.
        path: of the message.

    Yields:
        the path of what was changed, and the complete message.
    """
    path = path or descriptor.name
    if (other := change(path, None, message)) is not None:
        yield path, other
    for number, wire, start, end in fields(message):
        field = descriptor.fields_by_number[number]
        if wire != BYTES or (field.message_type is None and field.cpp_type == field.CPPTYPE_STRING):
            continue
        inside = f"{path}.{field.name}"
        key, at = _read_varint(message, start)
        content = message[_read_varint(message, at)[1] : end]
        if field.message_type is not None:
            found = changed(content, field.message_type, change, inside)
        else:
            other = change(inside, field, content)
            found = iter([] if other is None else [(inside, other)])
        for where, new in found:
            head = varint(key) + varint(len(new))
            yield where, message[:start] + head + new + message[end:]


def unreadable(path: str, field: Any, content: bytes) -> bytes:
    """No message: the number of its last field is not there; or no list of numbers."""
    return content + (b"\x08" if field is None else b"\x80")
