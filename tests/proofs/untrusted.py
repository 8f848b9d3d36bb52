"""Indexes that an enemy made: their checksums are right, what they say is not."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from graphio.schema import checkpoint_index, dtypes
from graphio.schema.checkpoint_pb2 import CheckpointIndex, CheckpointVariable
from graphio.schema.crc32c import crc32c
from graphio.support import errors
from proofs import victims
from proofs.victims import ENGINES, Reader, Tally

Change = Callable[[CheckpointIndex], object]


def named(index: CheckpointIndex, name: str) -> CheckpointVariable:
    """A variable's entry."""
    return next(v for v in index.variable if v.name == name)


def _sized(name: str, dims: list[int], nbytes: int | None = None) -> Change:
    def change(index: CheckpointIndex) -> None:
        row = named(index, name)
        row.dims[:] = dims
        if nbytes is not None:
            row.nbytes = nbytes

    return change


def _set(name: str, field: str, value: int) -> Change:
    return lambda index: setattr(named(index, name), field, value)


def _moved(name: str, by: int) -> Change:
    return lambda index: setattr(
        named(index, name), "offset", max(named(index, name).offset + by, 0)
    )


def _file(name: str) -> Change:
    return lambda index: setattr(index.shard[0], "file", name)


def _meta(name: str) -> Change:
    return lambda index: setattr(index, "meta_file", name)


def _shard_twice(index: CheckpointIndex) -> None:
    """A third shard, which is the first file again, without variables."""
    index.shard.add(file=index.shard[0].file, nbytes=index.shard[0].nbytes)
    index.shard_header.append(index.shard_header[0])


def _same_bytes_twice(index: CheckpointIndex) -> None:
    """A variable whose bytes are another's."""
    first, second = named(index, "of_float32"), named(index, "of_int32")
    second.shard, second.offset, second.crc32c = first.shard, first.offset, first.crc32c


def _same_name_twice(index: CheckpointIndex) -> None:
    named(index, "of_int16").name = "of_int32"
    index.variable.sort(key=lambda v: v.name.encode())


def _swapped_names(index: CheckpointIndex) -> None:
    first, second = named(index, "of_float32"), named(index, "of_int32")
    first.name, second.name = second.name, first.name


def _without_state(index: CheckpointIndex) -> None:
    index.resource[0].ClearField("generator")


def _resource_twice(index: CheckpointIndex) -> None:
    index.resource.add().CopyFrom(index.resource[0])
    index.resource.sort(key=lambda r: r.name.encode())


def _one_header_more(index: CheckpointIndex) -> None:
    index.shard_header.append(0)


def _no_shards(index: CheckpointIndex) -> None:
    del index.shard[:], index.shard_header[:]


BAD_NAMES = (
    "../x",
    "/etc/passwd",
    "a/b",
    "a\\b",
    ".hidden",
    "..",
    "a\0b",
    'a"b',
    "ü" * 128,
    "x" * 256,
    "a\n",
    "a\x7f",
)
CASES: dict[str, Change] = {
    "a shard twice": _shard_twice,
    "the bytes of another variable": _same_bytes_twice,
    "a name twice": _same_name_twice,
    "names swapped": _swapped_names,
    "no shards": _no_shards,
    "a checksum of a header too many": _one_header_more,
    "no checksums of headers": lambda index: index.ClearField("shard_header"),
    "a resource without state": _without_state,
    "a resource twice": _resource_twice,
    "a resource without name": lambda index: setattr(index.resource[0], "name", ""),
    "a newer reader": lambda index: setattr(index, "min_reader", 1 << 31),
    "a variable without name": lambda index: setattr(index.variable[0], "name", ""),
    "variables not sorted": lambda index: index.variable.add().CopyFrom(index.variable[0]),
    "a shard that does not exist": _set("scalar", "shard", 2),
    "a shard far away": _set("scalar", "shard", (1 << 32) - 1),
    "an offset in the header": _moved("of_uint8", -1 << 20),
    "a byte before": _moved("scalar", -1),
    "a byte after": _moved("scalar", 1),
    "an offset after the end": _moved("scalar", 1 << 40),
    "an offset that wraps": _set("scalar", "offset", (1 << 64) - 4),
    "bytes that wrap": _set("scalar", "nbytes", (1 << 64) - 4),
    "a string of bytes that wrap": _set("of_string", "nbytes", (1 << 64) - 4),
    "a shard of another size": lambda index: setattr(index.shard[0], "nbytes", 1),
    "a shard of all memory": lambda index: setattr(index.shard[0], "nbytes", (1 << 64) - 1),
    "no element type": _set("scalar", "dtype", 0),
    "an unknown element type": _set("scalar", "dtype", 99),
    "a negative element type": _set("scalar", "dtype", -1),
    "another element type": _set("scalar", "dtype", dtypes.of_numpy("uint64").number),
    "floats as text": _set("w/Adam", "dtype", dtypes.STRING),
    "a negative dimension": _sized("scalar", [-1]),
    "two negative dimensions": _sized("scalar", [-1, -1]),
    "the smallest dimension": _sized("scalar", [-(1 << 63)]),
    "dimensions that wrap to 1": _sized("scalar", [(1 << 32) + 1, 1 << 32]),
    "dimensions that wrap to 0": _sized("scalar", [1 << 32, 1 << 32]),
    "bytes that wrap to 8": _sized("scalar", [(1 << 61) + 1]),
    "an empty one that is huge": _sized("empty", [0, 1 << 62]),
    "an empty one that wraps": _sized("empty", [1 << 40, 0, 1 << 40]),
    "rank 17": _sized("scalar", [1] * 17),
    "rank 10,000": _sized("scalar", [1] * 10_000),
    "another shape": _sized("of_float32", [3, 1]),
    "a dimension more": _sized("of_float32", [1, 1, 3]),
    "more strings than bytes": _sized("of_string", [1 << 40]),
    "a graph file of other bytes": lambda index: setattr(index, "meta_crc32c", 0),
    "a graph file of another length": lambda index: setattr(index, "meta_nbytes", 0),
    **{f"shard {name!r}": _file(name) for name in (*BAD_NAMES, "")},
    **{f"graph file {name!r}": _meta(name) for name in BAD_NAMES},
    "the index as a shard": _file("c.index"),
    "the graph file as a shard": _file("c.meta"),
}


#: a variable's bytes to others, whose checksum is right too
VALUES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a bool of 2": ("of_bool", lambda data: b"\2" + data[1:]),
    "a bool of 255": ("of_bool", lambda data: data[:-1] + b"\xff"),
    "strings longer than their bytes": ("of_string", lambda data: b"\xff" + data[1:]),
    "strings shorter than their bytes": ("of_string", lambda data: bytes(8 * 4) + data[32:]),
    "lengths of strings that wrap": (
        "of_string",
        lambda data: (2**64 - 1).to_bytes(8, "little") + (8).to_bytes(8, "little") + data[16:],
    ),
    "filling bits of uint4": ("of_uint4", lambda data: data[:-1] + bytes([data[-1] | 0xF0])),
    "filling bits of int2": ("of_int2", lambda data: data[:-1] + bytes([data[-1] | 0xC0])),
    "filling bits of float4": ("of_float4e2m1", lambda data: data[:-1] + bytes([data[-1] | 0x80])),
}


def forge(prefix: Path, change: Change) -> bytes:
    """The index's bytes after a change, with checksums that are right."""
    index = checkpoint_index.read_index(prefix)
    change(index)
    return checkpoint_index.wrap(index.SerializeToString(deterministic=True))


def case(engine: str, prefix: Path, name: str) -> Tally:
    """One case of CASES or VALUES; the files are put back."""
    reader, tally = Reader(engine, prefix), Tally()
    before = {path: path.read_bytes() for path in victims.files_of(prefix)}
    if name in CASES:
        prefix.with_suffix(".index").write_bytes(forge(prefix, CASES[name]))
    else:
        forge_values(prefix, *VALUES[name])
    try:
        tally.refuse(reader.load, name)
    finally:
        for path, data in before.items():
            path.write_bytes(data)
    reader.check_unchanged(tally)
    return tally


def forge_values(prefix: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Replaces a variable's bytes by as many others, and its checksum."""
    index = checkpoint_index.read_index(prefix)
    row = named(index, name)
    path = prefix.with_name(index.shard[row.shard].file)
    data, end = path.read_bytes(), row.offset + row.nbytes
    other = change(data[row.offset : end])
    assert len(other) == row.nbytes and other != data[row.offset : end]
    path.write_bytes(data[: row.offset] + other + data[end:])

    def summed(index: CheckpointIndex) -> None:
        named(index, name).crc32c = crc32c(other)

    prefix.with_suffix(".index").write_bytes(forge(prefix, summed))


def all_cases(engine: str, prefix: Path) -> Tally:
    """Every case."""
    return sum((case(engine, prefix, name) for name in (*CASES, *VALUES)), Tally())


def mutated(prefix: Path, seed: int, count: int) -> Tally:
    """Changes of bytes of the index's message: both engines take it, or both refuse it."""
    rng, tally = random.Random(seed), Tally()
    path = prefix.with_suffix(".index")
    data = path.read_bytes()
    states = [victims.blank_state(engine, prefix) for engine in ENGINES]
    try:
        for number in range(count):
            message = bytearray(data[checkpoint_index.HEADER :])
            for _ in range(rng.choice((1, 1, 2, 4))):
                _mutate(message, rng)
            path.write_bytes(checkpoint_index.wrap(bytes(message)))
            outcomes = [_outcome(state, prefix) for state in states]
            tally.tried += 1
            tally.refused += outcomes[0] != ""
            if (outcomes[0] == "") != (outcomes[1] == ""):
                tally.taken.append(f"seed {seed}, change {number}: {outcomes}")
    finally:
        path.write_bytes(data)
    return tally


def _mutate(message: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(message))
    match rng.randrange(4):
        case 0:
            message[at] = rng.randrange(256)
        case 1:
            message[at] ^= 1 << rng.randrange(8)
        case 2:
            del message[at : at + rng.randrange(1, 9)]
        case _:
            message[at:at] = rng.randbytes(rng.randrange(1, 9))


def _outcome(state: object, prefix: Path) -> str:
    """ "" or the error's class and words; others than a damaged file's come out."""
    try:
        state.restore(prefix)  # type: ignore[attr-defined]
    except (*victims.DAMAGED, errors.NotFoundError) as error:
        return f"{type(error).__name__}: {error.message}"
    return ""
