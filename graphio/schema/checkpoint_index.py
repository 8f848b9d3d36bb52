"""The index of a checkpoint, `P.index`: a message in a checked envelope (schema/README.md)."""

from __future__ import annotations

import math
import operator
import os
import re
import struct
from collections.abc import Iterable, Sequence

from google.protobuf.message import DecodeError

from graphio.schema import dtypes, tensors, versions
from graphio.schema.checkpoint_pb2 import CheckpointIndex, CheckpointVariable
from graphio.schema.crc32c import crc32c
from graphio.storage import stores
from graphio.support import errors

MAGIC = b"\x89GIX\r\n\x1a\n"
MAJOR, MINOR = 1, 1
HEADER = 32
_FIELDS = struct.Struct("<8sHHIQI")  # bytes 0 to 27; their CRC follows
_READ = f"{MAJOR}.{MINOR} without flags"  # the version that this reader reads

_UNSAFE = re.compile(r'^\.|[\x00-\x1f\x7f/\\"]' + ("|[<>:|?*]" if os.name == "nt" else ""))


def wrap(payload: bytes, minor: int = 0) -> bytes:
    """The envelope around an index's message.

    Args:
        minor: the minor version of the newest field in it.
    """
    fields = _FIELDS.pack(MAGIC, MAJOR, minor, 0, len(payload), crc32c(payload))
    return fields + struct.pack("<I", crc32c(fields)) + payload


def encoded(index: CheckpointIndex) -> bytes:
    """The bytes of an index's file."""
    return wrap(index.SerializeToString(deterministic=True), 1 if index.metric else 0)


def unwrap(data: bytes) -> bytes:
    """The message inside an envelope.

    Raises:
        DataLossError: a byte is damaged, missing or too many.
        UnimplementedError: it needs a newer reader.
    """
    if len(data) < HEADER or data[:8] != MAGIC:
        raise damaged("it does not start as one")
    _, major, minor, flags, length, crc = _FIELDS.unpack_from(data)
    if crc32c(data[: _FIELDS.size]) != int.from_bytes(data[_FIELDS.size : HEADER], "little"):
        raise damaged("the header's checksum does not match")
    if major != MAJOR or flags:
        raise versions.too_new("the checkpoint", f"{major}.{minor} with flags {flags:#x}", _READ)
    payload = data[HEADER:]
    if len(payload) != length:
        raise damaged(f"{len(payload)} bytes follow its header, expected {length}")
    if crc32c(payload) != crc:
        raise damaged("its checksum does not match")
    return payload


def read_index(prefix: str | os.PathLike[str]) -> CheckpointIndex:
    """The verified index of a checkpoint; its shards are not looked at.

    Raises:
        NotFoundError: there is no checkpoint of that prefix.
        DataLossError: the index is damaged or says impossible things.
        UnimplementedError: it needs a newer graphio.
    """
    return read_index_of(*stores.of(prefix))


def read_index_of(store: stores.Store, base: str) -> CheckpointIndex:
    """read_index for a checkpoint `base` of a store."""
    name = base + ".index"
    try:
        data = store.read(name, follow=True)
    except errors.NotFoundError:
        raise errors.NotFoundError(message=f"there is no checkpoint {store.path(base)!r}") from None
    try:
        return parsed(data)
    except errors.OpError as error:
        raise type(error)(message=f"{name}: {error.message}") from None


def parsed(data: bytes) -> CheckpointIndex:
    """The verified index that the bytes of a file hold; errors as read_index.

    What does not fit together in a file of a later minor version, whose checksums are right, is
    what that version has added: no damage.
    """
    payload = unwrap(data)
    minor = _FIELDS.unpack_from(data)[2]
    try:
        index = CheckpointIndex.FromString(payload)
        check(index)
        return index
    except (DecodeError, errors.DataLossError) as error:
        if minor > MINOR:
            raise versions.too_new("the checkpoint", f"{MAJOR}.{minor}", _READ) from None
        if isinstance(error, DecodeError):
            raise damaged("it holds no CheckpointIndex message") from None
        raise


def check(index: CheckpointIndex) -> None:
    """Refuses an index that is not consistent in itself.

    Raises:
        DataLossError: it is not.
        UnimplementedError: it needs a newer reader.
    """
    if index.min_reader > MINOR:
        raise versions.too_new("the checkpoint", f"{MAJOR}.{index.min_reader}", _READ)
    names = [shard.file for shard in index.shard]
    for name in (*names, *([index.meta_file] if index.meta_file else ())):
        if not is_safe_name(name):
            raise damaged(f"{name!r} is not a plain file name")
    _ascending("shards", names)
    if len(index.shard_header) != len(names):
        raise damaged("its list of shards is inconsistent")
    _ascending("variables", [v.name for v in index.variable])
    _ascending("resources", [r.name for r in index.resource])
    _check_strings(index)
    _check_sizes(index.variable)
    _check_tiling(index)
    for resource in index.resource:
        if resource.WhichOneof("state") is None:
            raise damaged(f"resource '{resource.name}' has no state")


def is_safe_name(name: str) -> bool:
    """Whether a name stays in its folder and needs no escapes in the file `checkpoint`: up to 255
    bytes of UTF-8, no slash, backslash, double quote or control character, "." not first."""
    try:
        return 0 < len(name.encode()) <= 255 and _UNSAFE.search(name) is None
    except UnicodeEncodeError:
        return False


def by_shard(index: CheckpointIndex) -> list[list[CheckpointVariable]]:
    """The variables of each shard in the order of their bytes."""
    inside: list[list[CheckpointVariable]] = [[] for _ in index.shard]
    for variable in index.variable:
        inside[variable.shard].append(variable)
    for rows in inside:
        rows.sort(key=lambda v: (v.offset, v.nbytes))
    return inside


def _check_strings(index: CheckpointIndex) -> None:
    """A C program gets them as C strings, which end at a zero byte."""
    for variable in index.variable:
        for text in (variable.name, variable.slot_of, variable.slot):
            if "\0" in text:
                raise damaged(f"a variable's entry has a zero byte in {text!r}")
    for text in (*(resource.name for resource in index.resource), index.producer):
        if "\0" in text:
            raise damaged(f"there is a zero byte in {text!r}")


def _check_sizes(variables: Iterable[CheckpointVariable]) -> None:
    """Each has the bytes of its dtype and shape; strings at least their lengths."""
    known: dict[tuple[int, ...], int] = {}  # there are more variables than shapes
    for variable in variables:
        key = (variable.dtype, *variable.dims[:])
        nbytes = known.get(key)
        if nbytes is None:
            nbytes = known[key] = _bytes_of(*key)
        if variable.nbytes != nbytes and (
            variable.dtype != dtypes.STRING or variable.nbytes < nbytes
        ):
            raise damaged(
                f"variable '{variable.name}' {dtypes.name(variable.dtype)}{list(variable.dims)} "
                f"has {variable.nbytes} bytes"
            )


def _bytes_of(dtype: int, *dims: int) -> int:
    tensors.check_dims(dims)
    bits = 64 if dtype == dtypes.STRING else dtypes.of_number(dtype).bits
    return (math.prod(dims) * bits + 7) // 8


def _check_tiling(index: CheckpointIndex) -> None:
    """Every byte of a shard belongs to its header or to one variable."""
    ranges = sorted(map(operator.attrgetter("shard", "offset", "nbytes"), index.variable))
    if ranges and ranges[-1][0] >= len(index.shard):
        raise damaged(f"a variable is in shard {ranges[-1][0]} of {len(index.shard)}")
    ends = [shard.nbytes for shard in index.shard]
    for shard, offset, _ in reversed(ranges):
        ends[shard] = offset  # of the header
    for shard, offset, nbytes in ranges:
        if offset != ends[shard]:
            raise damaged(f"its variables overlap or leave a gap in {index.shard[shard].file}")
        ends[shard] = offset + nbytes
    for shard, end in zip(index.shard, ends, strict=True):
        if end != shard.nbytes:
            raise damaged(f"{shard.file} has {shard.nbytes} bytes, its variables end at {end}")


def _ascending(what: str, names: Sequence[str]) -> None:
    """Names are sorted by their bytes, as code points are, and none is empty."""
    if any(map(operator.ge, names, names[1:])) or "" in names[:1]:
        raise damaged(f"its {what} are not sorted, or one has no name")
    if "\0" in "".join(names):
        raise damaged(f"a name among its {what} has a byte 0")


def damaged(what: str) -> errors.DataLossError:
    """The error of a damaged checkpoint."""
    return errors.DataLossError(message=f"the checkpoint's index is damaged: {what}")
