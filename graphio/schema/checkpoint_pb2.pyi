from graphio.schema import model_pb2 as _model_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Shard(_message.Message):
    __slots__ = ("file", "nbytes")
    FILE_FIELD_NUMBER: _ClassVar[int]
    NBYTES_FIELD_NUMBER: _ClassVar[int]
    file: str
    nbytes: int
    def __init__(self, file: _Optional[str] = ..., nbytes: _Optional[int] = ...) -> None: ...

class CheckpointVariable(_message.Message):
    __slots__ = ("name", "dtype", "dims", "shard", "offset", "nbytes", "crc32c", "slot_of", "slot")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    DIMS_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    NBYTES_FIELD_NUMBER: _ClassVar[int]
    CRC32C_FIELD_NUMBER: _ClassVar[int]
    SLOT_OF_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    name: str
    dtype: _model_pb2.DataType
    dims: _containers.RepeatedScalarFieldContainer[int]
    shard: int
    offset: int
    nbytes: int
    crc32c: int
    slot_of: str
    slot: str
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[_Union[_model_pb2.DataType, str]] = ..., dims: _Optional[_Iterable[int]] = ..., shard: _Optional[int] = ..., offset: _Optional[int] = ..., nbytes: _Optional[int] = ..., crc32c: _Optional[int] = ..., slot_of: _Optional[str] = ..., slot: _Optional[str] = ...) -> None: ...

class CheckpointResource(_message.Message):
    __slots__ = ("name", "generator", "iterator", "blob")
    NAME_FIELD_NUMBER: _ClassVar[int]
    GENERATOR_FIELD_NUMBER: _ClassVar[int]
    ITERATOR_FIELD_NUMBER: _ClassVar[int]
    BLOB_FIELD_NUMBER: _ClassVar[int]
    name: str
    generator: _model_pb2.GeneratorState
    iterator: _model_pb2.IteratorState
    blob: bytes
    def __init__(self, name: _Optional[str] = ..., generator: _Optional[_Union[_model_pb2.GeneratorState, _Mapping]] = ..., iterator: _Optional[_Union[_model_pb2.IteratorState, _Mapping]] = ..., blob: _Optional[bytes] = ...) -> None: ...

class CheckpointMetric(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...

class CheckpointIndex(_message.Message):
    __slots__ = ("save_id", "shard", "variable", "resource", "meta_file", "meta_nbytes", "meta_crc32c", "step", "has_step", "time", "producer", "min_reader", "shard_header", "metric")
    SAVE_ID_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    VARIABLE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    META_FILE_FIELD_NUMBER: _ClassVar[int]
    META_NBYTES_FIELD_NUMBER: _ClassVar[int]
    META_CRC32C_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    HAS_STEP_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_FIELD_NUMBER: _ClassVar[int]
    MIN_READER_FIELD_NUMBER: _ClassVar[int]
    SHARD_HEADER_FIELD_NUMBER: _ClassVar[int]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    save_id: int
    shard: _containers.RepeatedCompositeFieldContainer[Shard]
    variable: _containers.RepeatedCompositeFieldContainer[CheckpointVariable]
    resource: _containers.RepeatedCompositeFieldContainer[CheckpointResource]
    meta_file: str
    meta_nbytes: int
    meta_crc32c: int
    step: int
    has_step: bool
    time: int
    producer: str
    min_reader: int
    shard_header: _containers.RepeatedScalarFieldContainer[int]
    metric: _containers.RepeatedCompositeFieldContainer[CheckpointMetric]
    def __init__(self, save_id: _Optional[int] = ..., shard: _Optional[_Iterable[_Union[Shard, _Mapping]]] = ..., variable: _Optional[_Iterable[_Union[CheckpointVariable, _Mapping]]] = ..., resource: _Optional[_Iterable[_Union[CheckpointResource, _Mapping]]] = ..., meta_file: _Optional[str] = ..., meta_nbytes: _Optional[int] = ..., meta_crc32c: _Optional[int] = ..., step: _Optional[int] = ..., has_step: bool = ..., time: _Optional[int] = ..., producer: _Optional[str] = ..., min_reader: _Optional[int] = ..., shard_header: _Optional[_Iterable[int]] = ..., metric: _Optional[_Iterable[_Union[CheckpointMetric, _Mapping]]] = ...) -> None: ...
