"""Files that claim or hold too much, and what reading them costs.

python untrusted_sizes.py      reads each case; prints name, bytes, growth of memory, work, outcome
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import resource
import struct
import sys
import tempfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from foreign_files import torch_file
from fuzzing.model_reader import sealed
from onnx import TensorProto, helper

import graphio.onnx
from graphio import runtime, tensorflow_files
from graphio.schema import checkpoint_index, tensorflow_pb2
from graphio.support import errors
from graphio.train.interop.sources import open_source

DEEP = 100_000
DIMS = 3  # the field of CheckpointVariable
MANY = 20_000
LONG = 1000  # nodes in a row
MEMORY = 4 << 30  # of addresses: an allocation of what is only claimed fails

# ---- bytes of protobuf messages ----


def varint(number: int) -> bytes:
    """A varint."""
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


def field(number: int, data: bytes) -> bytes:
    """A field with a length."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def nested(numbers: Sequence[int], levels: int) -> bytes:
    """Messages in each other, by the fields that lead inwards in turn."""
    heads, length = [], 0
    for level in range(levels):
        head = varint(numbers[(levels - 1 - level) % len(numbers)] << 3 | 2) + varint(length)
        heads.append(head)
        length += len(head)
    return b"".join(reversed(heads))


def claimed(number: int, length: int) -> bytes:
    """A field that says that it is longer than all that follows."""
    return varint(number << 3 | 2) + varint(length) + b"x" * 8


def numbered(number: int, count: int, make: Callable[[int], bytes]) -> bytes:
    """A repeated message of many small ones."""
    return b"".join(field(number, make(i)) for i in range(count))


def named(number: int) -> Callable[[int], bytes]:
    """A message with nothing but a name, another one each time."""
    return lambda i: field(number, b"n%d" % i)


# ---- cases ----

Read = Callable[[bytes], object]


def _model(data: bytes) -> object:
    return runtime.load(sealed(data, b""))


def _index(data: bytes) -> object:
    return checkpoint_index.check(
        checkpoint_index.CheckpointIndex.FromString(
            checkpoint_index.unwrap(checkpoint_index.wrap(data))
        )
    )


def _file(data: bytes) -> object:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        source = open_source(file.name)
        return [source.array(name).shape for name in source.entries()]


class Kind(NamedTuple):
    """How a format's message holds nodes, by numbers of fields.

    Attributes:
        read: its reader.
        graph: fields from the message to the graph; none: it is the graph.
        node, name: of the graph's nodes, and of a node's name.
        inwards: fields that lead from a node into another one, again and again.
    """

    read: Read
    graph: tuple[int, ...]
    node: int
    name: int
    inwards: tuple[int, ...]


KINDS = {
    "model": Kind(_model, (2,), 2, 1, (5, 2, 7, 2)),
    "ONNX": Kind(graphio.onnx.convert, (7,), 1, 3, (5, 6, 1)),
    "GraphDef": Kind(tensorflow_files.convert, (), 1, 1, (5, 2, 10)),
}


def _messages() -> Iterator[tuple[str, Read, bytes]]:
    for what, kind in KINDS.items():

        def whole(nodes: bytes, kind: Kind = kind) -> bytes:
            for number in reversed(kind.graph):
                nodes = field(number, nodes)
            return nodes

        yield (
            f"{what}, {DEEP} levels",
            kind.read,
            whole(field(kind.node, nested(kind.inwards, DEEP))),
        )
        for length in (1 << 31) - 1, 1 << 63:
            yield f"{what}, a name of {length} bytes", kind.read, claimed(kind.node, length)
        empty = numbered(kind.node, MANY, lambda i: b"")
        yield f"{what}, {MANY} empty nodes", kind.read, whole(empty)
        yield f"{what}, {MANY} nodes", kind.read, whole(numbered(kind.node, MANY, named(kind.name)))
        same = field(kind.node, field(kind.name, b"same")) * MANY
        yield f"{what}, {MANY} nodes of one name", kind.read, whole(same)


def _chains() -> Iterator[tuple[str, Read, bytes]]:
    """Nodes each of which reads the one before, in ways whose cost could grow with every node."""
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy"]
    for what, op, inputs, count in (("doubled", "Add", 2, 100), ("passed on", "Identity", 1, LONG)):
        nodes = [helper.make_node("Shape", ["x"], ["v0"])]
        nodes += [helper.make_node(op, [f"v{i}"] * inputs, [f"v{i + 1}"]) for i in range(count)]
        nodes.append(helper.make_node("Reshape", ["x", f"v{count}"], ["y"]))
        model = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]))
        yield f"ONNX, sizes {what} {count} times", graphio.onnx.convert, model.SerializeToString()
    graph = tensorflow_pb2.GraphDef()
    graph.node.add(name="v0", op="Placeholder").attr["dtype"].type = 1
    for i in range(LONG):
        node = graph.node.add(name=f"v{i + 1}", op="Relu", input=["v0", f"^v{i}"])
        node.attr["T"].type = 1
    yield f"GraphDef, {LONG} wait", tensorflow_files.convert, graph.SerializeToString()


def _indexes() -> Iterator[tuple[str, Read, bytes]]:
    yield "index, empty variables", _index, numbered(3, MANY, lambda i: b"")
    yield "index, variables", _index, numbered(3, MANY, named(1))
    dims = field(DIMS, b"\1" * (1 << 20))
    yield "index, a rank of a million", _index, field(3, field(1, b"v") + dims)


def _headers() -> Iterator[tuple[str, Read, bytes]]:
    def safetensors(header: bytes) -> bytes:
        return len(header).to_bytes(8, "little") + header

    yield "safetensors, deep", _file, safetensors(b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}")
    yield "safetensors, deep objects", _file, safetensors(b'{"a":' * DEEP + b"1" + b"}" * DEEP)
    yield "safetensors, 2^62 bytes of header", _file, (1 << 62).to_bytes(8, "little") + b"{}"
    long = b'{"a":[' + b"0," * (10 << 20) + b"0]}"
    yield "safetensors, a header of 20 MB", _file, safetensors(long)
    yield (
        "safetensors, a number of a million digits",
        _file,
        safetensors(b'{"a":' + b"9" * 10**6 + b"}"),
    )
    empty = b"{" + b",".join(b'"%d":{}' % i for i in range(MANY)) + b"}"
    yield "safetensors, many tensors", _file, safetensors(empty)


def _archives() -> Iterator[tuple[str, Read, bytes]]:
    zeros = zlib.compressobj(9, zlib.DEFLATED, -15)
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }" % (1 << 30)
    start = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header
    packed = zeros.compress(start + bytes(1 << 20)) + zeros.flush()
    yield "npz, a claim of 1 GB", _file, _zipped(packed, len(start) + (1 << 30))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        inner = io.BytesIO()
        np.save(inner, np.zeros(1 << 26, np.uint8))
        archive.writestr("a.npy", inner.getvalue())
    yield "npz, 64 MB of zeros", _file, buffer.getvalue()
    with tempfile.NamedTemporaryFile(suffix=".pt") as file:
        path = Path(file.name)
        for what, data in _pickles().items():
            yield f"pickle, {what}", _file, torch_file(path, data).read_bytes()


def _zipped(packed: bytes, size: int) -> bytes:
    """An archive of one entry that says how large it becomes."""
    name, fields = b"a.npy", (20, 0, 8, 0, 0, 0, len(packed), size, 5)
    local = struct.pack("<4s5H3L2H", b"PK\3\4", *fields, 0) + name + packed
    central = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, *fields, *([0] * 4), 0, 0) + name
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + end


def _pickles() -> dict[str, bytes]:
    # Each list holds the one before ten times; all are in one more list, which is the value.
    lists = b"".join(b"]q%c(" % (i + 1) + b"h%c" % i * 10 + b"ea" for i in range(30))
    laughs = b"\x80\x02]q\xff]q\0a" + lists
    return {
        "lists in lists": b"\x80\x02" + b"]" * DEEP + b"a" * (DEEP - 1) + b".",
        "tuples in tuples": b"\x80\x02)" + b"\x85" * DEEP + b".",
        "the same list a billion times": laughs + b".",
        "a string of 4 GB": b"\x80\x02X\xff\xff\xff\xff.",
        "bytes of 2^63": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 63) + b".",
        "many marks": b"\x80\x02" + b"(" * DEEP + b"t" * DEEP + b".",
        "a list in itself": b"\x80\x02]q\0h\0a.",
        "a memo far away": b"\x80\x02]r\xff\xff\xff\x7f.",
    }


def cases() -> Iterator[tuple[str, Read, bytes]]:
    """Name, reader and bytes."""
    yield from _messages()
    yield from _chains()
    yield from _indexes()
    yield from _headers()
    yield from _archives()


# ---- costs ----


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) << 10
    raise KeyError(key)


def measured(reader: Read, data: bytes) -> tuple[int, float, str]:
    """Growth of resident memory, seconds of processor, and the error's words."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is as of now
    before, started = _status("VmRSS"), time.process_time()
    outcome = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader(data)
    except (errors.OpError, OSError) as error:
        outcome = f"{type(error).__name__}: {error}"
    return max(_status("VmHWM") - before, 0), time.process_time() - started, outcome


def main() -> None:
    """Reads all and prints a JSON list."""
    resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + MEMORY, resource.RLIM_INFINITY))
    for kind in KINDS.values():  # modules that are imported late are loaded
        with contextlib.suppress(errors.OpError):
            kind.read(b"")
    found = []
    for name, reader, data in cases():
        growth, seconds, outcome = measured(reader, data)
        found.append((name, len(data), growth, seconds, outcome))
        print(f"{name:45}{len(data):12,}{growth >> 20:5} MB {seconds:6.2f} s", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
