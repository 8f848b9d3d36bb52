from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DataType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNDEFINED: _ClassVar[DataType]
    FLOAT: _ClassVar[DataType]
    UINT8: _ClassVar[DataType]
    INT8: _ClassVar[DataType]
    UINT16: _ClassVar[DataType]
    INT16: _ClassVar[DataType]
    INT32: _ClassVar[DataType]
    INT64: _ClassVar[DataType]
    STRING: _ClassVar[DataType]
    BOOL: _ClassVar[DataType]
    FLOAT16: _ClassVar[DataType]
    DOUBLE: _ClassVar[DataType]
    UINT32: _ClassVar[DataType]
    UINT64: _ClassVar[DataType]
    COMPLEX64: _ClassVar[DataType]
    COMPLEX128: _ClassVar[DataType]
    BFLOAT16: _ClassVar[DataType]
    FLOAT8E4M3FN: _ClassVar[DataType]
    FLOAT8E4M3FNUZ: _ClassVar[DataType]
    FLOAT8E5M2: _ClassVar[DataType]
    FLOAT8E5M2FNUZ: _ClassVar[DataType]
    UINT4: _ClassVar[DataType]
    INT4: _ClassVar[DataType]
    FLOAT4E2M1: _ClassVar[DataType]
    FLOAT8E8M0: _ClassVar[DataType]
    UINT2: _ClassVar[DataType]
    INT2: _ClassVar[DataType]
UNDEFINED: DataType
FLOAT: DataType
UINT8: DataType
INT8: DataType
UINT16: DataType
INT16: DataType
INT32: DataType
INT64: DataType
STRING: DataType
BOOL: DataType
FLOAT16: DataType
DOUBLE: DataType
UINT32: DataType
UINT64: DataType
COMPLEX64: DataType
COMPLEX128: DataType
BFLOAT16: DataType
FLOAT8E4M3FN: DataType
FLOAT8E4M3FNUZ: DataType
FLOAT8E5M2: DataType
FLOAT8E5M2FNUZ: DataType
UINT4: DataType
INT4: DataType
FLOAT4E2M1: DataType
FLOAT8E8M0: DataType
UINT2: DataType
INT2: DataType

class Dimension(_message.Message):
    __slots__ = ("size", "symbol")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    size: int
    symbol: str
    def __init__(self, size: _Optional[int] = ..., symbol: _Optional[str] = ...) -> None: ...

class Shape(_message.Message):
    __slots__ = ("dim",)
    DIM_FIELD_NUMBER: _ClassVar[int]
    dim: _containers.RepeatedCompositeFieldContainer[Dimension]
    def __init__(self, dim: _Optional[_Iterable[_Union[Dimension, _Mapping]]] = ...) -> None: ...

class Type(_message.Message):
    __slots__ = ("tensor", "sequence", "optional")
    class TensorType(_message.Message):
        __slots__ = ("dtype", "shape")
        DTYPE_FIELD_NUMBER: _ClassVar[int]
        SHAPE_FIELD_NUMBER: _ClassVar[int]
        dtype: DataType
        shape: Shape
        def __init__(self, dtype: _Optional[_Union[DataType, str]] = ..., shape: _Optional[_Union[Shape, _Mapping]] = ...) -> None: ...
    TENSOR_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    OPTIONAL_FIELD_NUMBER: _ClassVar[int]
    tensor: Type.TensorType
    sequence: Type
    optional: Type
    def __init__(self, tensor: _Optional[_Union[Type.TensorType, _Mapping]] = ..., sequence: _Optional[_Union[Type, _Mapping]] = ..., optional: _Optional[_Union[Type, _Mapping]] = ...) -> None: ...

class Tensor(_message.Message):
    __slots__ = ("dtype", "dims", "data", "offset", "nbytes", "crc32c", "stored", "packed_tile_width", "packed_tile_axis")
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    DIMS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    NBYTES_FIELD_NUMBER: _ClassVar[int]
    CRC32C_FIELD_NUMBER: _ClassVar[int]
    STORED_FIELD_NUMBER: _ClassVar[int]
    PACKED_TILE_WIDTH_FIELD_NUMBER: _ClassVar[int]
    PACKED_TILE_AXIS_FIELD_NUMBER: _ClassVar[int]
    dtype: DataType
    dims: _containers.RepeatedScalarFieldContainer[int]
    data: bytes
    offset: int
    nbytes: int
    crc32c: int
    stored: bool
    packed_tile_width: int
    packed_tile_axis: int
    def __init__(self, dtype: _Optional[_Union[DataType, str]] = ..., dims: _Optional[_Iterable[int]] = ..., data: _Optional[bytes] = ..., offset: _Optional[int] = ..., nbytes: _Optional[int] = ..., crc32c: _Optional[int] = ..., stored: bool = ..., packed_tile_width: _Optional[int] = ..., packed_tile_axis: _Optional[int] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ("file", "line", "function")
    FILE_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    file: str
    line: int
    function: str
    def __init__(self, file: _Optional[str] = ..., line: _Optional[int] = ..., function: _Optional[str] = ...) -> None: ...

class AttributeValue(_message.Message):
    __slots__ = ("i", "f", "d", "s", "t", "tensor", "g", "type", "ints", "floats", "strings", "graphs", "reference")
    class IntList(_message.Message):
        __slots__ = ("i",)
        I_FIELD_NUMBER: _ClassVar[int]
        i: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, i: _Optional[_Iterable[int]] = ...) -> None: ...
    class FloatList(_message.Message):
        __slots__ = ("f",)
        F_FIELD_NUMBER: _ClassVar[int]
        f: _containers.RepeatedScalarFieldContainer[float]
        def __init__(self, f: _Optional[_Iterable[float]] = ...) -> None: ...
    class StringList(_message.Message):
        __slots__ = ("s",)
        S_FIELD_NUMBER: _ClassVar[int]
        s: _containers.RepeatedScalarFieldContainer[bytes]
        def __init__(self, s: _Optional[_Iterable[bytes]] = ...) -> None: ...
    class GraphList(_message.Message):
        __slots__ = ("g",)
        G_FIELD_NUMBER: _ClassVar[int]
        g: _containers.RepeatedCompositeFieldContainer[Graph]
        def __init__(self, g: _Optional[_Iterable[_Union[Graph, _Mapping]]] = ...) -> None: ...
    I_FIELD_NUMBER: _ClassVar[int]
    F_FIELD_NUMBER: _ClassVar[int]
    D_FIELD_NUMBER: _ClassVar[int]
    S_FIELD_NUMBER: _ClassVar[int]
    T_FIELD_NUMBER: _ClassVar[int]
    TENSOR_FIELD_NUMBER: _ClassVar[int]
    G_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    INTS_FIELD_NUMBER: _ClassVar[int]
    FLOATS_FIELD_NUMBER: _ClassVar[int]
    STRINGS_FIELD_NUMBER: _ClassVar[int]
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    i: int
    f: float
    d: float
    s: bytes
    t: Tensor
    tensor: int
    g: Graph
    type: Type
    ints: AttributeValue.IntList
    floats: AttributeValue.FloatList
    strings: AttributeValue.StringList
    graphs: AttributeValue.GraphList
    reference: str
    def __init__(self, i: _Optional[int] = ..., f: _Optional[float] = ..., d: _Optional[float] = ..., s: _Optional[bytes] = ..., t: _Optional[_Union[Tensor, _Mapping]] = ..., tensor: _Optional[int] = ..., g: _Optional[_Union[Graph, _Mapping]] = ..., type: _Optional[_Union[Type, _Mapping]] = ..., ints: _Optional[_Union[AttributeValue.IntList, _Mapping]] = ..., floats: _Optional[_Union[AttributeValue.FloatList, _Mapping]] = ..., strings: _Optional[_Union[AttributeValue.StringList, _Mapping]] = ..., graphs: _Optional[_Union[AttributeValue.GraphList, _Mapping]] = ..., reference: _Optional[str] = ...) -> None: ...

class Attribute(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: AttributeValue
    def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[AttributeValue, _Mapping]] = ...) -> None: ...

class Node(_message.Message):
    __slots__ = ("name", "op", "input", "device", "attr", "domain", "version", "control_input", "output_type", "source", "tf_type")
    NAME_FIELD_NUMBER: _ClassVar[int]
    OP_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    ATTR_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTROL_INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TYPE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TF_TYPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    op: str
    input: _containers.RepeatedScalarFieldContainer[str]
    device: str
    attr: _containers.RepeatedCompositeFieldContainer[Attribute]
    domain: str
    version: int
    control_input: _containers.RepeatedScalarFieldContainer[str]
    output_type: _containers.RepeatedCompositeFieldContainer[Type]
    source: Source
    tf_type: str
    def __init__(self, name: _Optional[str] = ..., op: _Optional[str] = ..., input: _Optional[_Iterable[str]] = ..., device: _Optional[str] = ..., attr: _Optional[_Iterable[_Union[Attribute, _Mapping]]] = ..., domain: _Optional[str] = ..., version: _Optional[int] = ..., control_input: _Optional[_Iterable[str]] = ..., output_type: _Optional[_Iterable[_Union[Type, _Mapping]]] = ..., source: _Optional[_Union[Source, _Mapping]] = ..., tf_type: _Optional[str] = ...) -> None: ...

class Argument(_message.Message):
    __slots__ = ("name", "type")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: Type
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[Type, _Mapping]] = ...) -> None: ...

class Graph(_message.Message):
    __slots__ = ("name", "node", "input", "output", "capture", "target")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    CAPTURE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    name: str
    node: _containers.RepeatedCompositeFieldContainer[Node]
    input: _containers.RepeatedCompositeFieldContainer[Argument]
    output: _containers.RepeatedScalarFieldContainer[str]
    capture: _containers.RepeatedScalarFieldContainer[str]
    target: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., node: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., input: _Optional[_Iterable[_Union[Argument, _Mapping]]] = ..., output: _Optional[_Iterable[str]] = ..., capture: _Optional[_Iterable[str]] = ..., target: _Optional[_Iterable[str]] = ...) -> None: ...

class Function(_message.Message):
    __slots__ = ("domain", "name", "version", "input", "output", "attribute", "node")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    domain: str
    name: str
    version: int
    input: _containers.RepeatedScalarFieldContainer[str]
    output: _containers.RepeatedScalarFieldContainer[str]
    attribute: _containers.RepeatedScalarFieldContainer[str]
    node: _containers.RepeatedCompositeFieldContainer[Node]
    def __init__(self, domain: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[int] = ..., input: _Optional[_Iterable[str]] = ..., output: _Optional[_Iterable[str]] = ..., attribute: _Optional[_Iterable[str]] = ..., node: _Optional[_Iterable[_Union[Node, _Mapping]]] = ...) -> None: ...

class Variable(_message.Message):
    __slots__ = ("name", "dtype", "shape", "trainable", "node", "initializer", "initial_value", "snapshot", "value", "slot_of", "slot", "part", "synchronization", "aggregation")
    class Part(_message.Message):
        __slots__ = ("whole", "shape", "begin")
        WHOLE_FIELD_NUMBER: _ClassVar[int]
        SHAPE_FIELD_NUMBER: _ClassVar[int]
        BEGIN_FIELD_NUMBER: _ClassVar[int]
        whole: str
        shape: _containers.RepeatedScalarFieldContainer[int]
        begin: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, whole: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., begin: _Optional[_Iterable[int]] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    TRAINABLE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    INITIALIZER_FIELD_NUMBER: _ClassVar[int]
    INITIAL_VALUE_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SLOT_OF_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    SYNCHRONIZATION_FIELD_NUMBER: _ClassVar[int]
    AGGREGATION_FIELD_NUMBER: _ClassVar[int]
    name: str
    dtype: DataType
    shape: Shape
    trainable: bool
    node: str
    initializer: str
    initial_value: str
    snapshot: str
    value: int
    slot_of: str
    slot: str
    part: Variable.Part
    synchronization: int
    aggregation: int
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[_Union[DataType, str]] = ..., shape: _Optional[_Union[Shape, _Mapping]] = ..., trainable: bool = ..., node: _Optional[str] = ..., initializer: _Optional[str] = ..., initial_value: _Optional[str] = ..., snapshot: _Optional[str] = ..., value: _Optional[int] = ..., slot_of: _Optional[str] = ..., slot: _Optional[str] = ..., part: _Optional[_Union[Variable.Part, _Mapping]] = ..., synchronization: _Optional[int] = ..., aggregation: _Optional[int] = ...) -> None: ...

class Resource(_message.Message):
    __slots__ = ("name", "generator", "iterator", "blob")
    class Generator(_message.Message):
        __slots__ = ("seeded", "key", "state")
        SEEDED_FIELD_NUMBER: _ClassVar[int]
        KEY_FIELD_NUMBER: _ClassVar[int]
        STATE_FIELD_NUMBER: _ClassVar[int]
        seeded: bool
        key: int
        state: GeneratorState
        def __init__(self, seeded: bool = ..., key: _Optional[int] = ..., state: _Optional[_Union[GeneratorState, _Mapping]] = ...) -> None: ...
    class Iterator(_message.Message):
        __slots__ = ("state", "source")
        STATE_FIELD_NUMBER: _ClassVar[int]
        SOURCE_FIELD_NUMBER: _ClassVar[int]
        state: IteratorState
        source: str
        def __init__(self, state: _Optional[_Union[IteratorState, _Mapping]] = ..., source: _Optional[str] = ...) -> None: ...
    class Blob(_message.Message):
        __slots__ = ("data",)
        DATA_FIELD_NUMBER: _ClassVar[int]
        data: bytes
        def __init__(self, data: _Optional[bytes] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    GENERATOR_FIELD_NUMBER: _ClassVar[int]
    ITERATOR_FIELD_NUMBER: _ClassVar[int]
    BLOB_FIELD_NUMBER: _ClassVar[int]
    name: str
    generator: Resource.Generator
    iterator: Resource.Iterator
    blob: Resource.Blob
    def __init__(self, name: _Optional[str] = ..., generator: _Optional[_Union[Resource.Generator, _Mapping]] = ..., iterator: _Optional[_Union[Resource.Iterator, _Mapping]] = ..., blob: _Optional[_Union[Resource.Blob, _Mapping]] = ...) -> None: ...

class GeneratorState(_message.Message):
    __slots__ = ("key", "counter")
    KEY_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    key: int
    counter: int
    def __init__(self, key: _Optional[int] = ..., counter: _Optional[int] = ...) -> None: ...

class IteratorState(_message.Message):
    __slots__ = ("epoch", "offset", "shuffle_seed", "detail")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_SEED_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    offset: int
    shuffle_seed: int
    detail: bytes
    def __init__(self, epoch: _Optional[int] = ..., offset: _Optional[int] = ..., shuffle_seed: _Optional[int] = ..., detail: _Optional[bytes] = ...) -> None: ...

class Signature(_message.Message):
    __slots__ = ("name", "input", "output", "target", "method", "doc")
    class Binding(_message.Message):
        __slots__ = ("key", "value", "type", "doc", "sparse")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        DOC_FIELD_NUMBER: _ClassVar[int]
        SPARSE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        type: Type
        doc: str
        sparse: Signature.Sparse
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ..., type: _Optional[_Union[Type, _Mapping]] = ..., doc: _Optional[str] = ..., sparse: _Optional[_Union[Signature.Sparse, _Mapping]] = ...) -> None: ...
    class Sparse(_message.Message):
        __slots__ = ("values", "indices", "dense_shape")
        VALUES_FIELD_NUMBER: _ClassVar[int]
        INDICES_FIELD_NUMBER: _ClassVar[int]
        DENSE_SHAPE_FIELD_NUMBER: _ClassVar[int]
        values: str
        indices: str
        dense_shape: str
        def __init__(self, values: _Optional[str] = ..., indices: _Optional[str] = ..., dense_shape: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    DOC_FIELD_NUMBER: _ClassVar[int]
    name: str
    input: _containers.RepeatedCompositeFieldContainer[Signature.Binding]
    output: _containers.RepeatedCompositeFieldContainer[Signature.Binding]
    target: _containers.RepeatedScalarFieldContainer[str]
    method: str
    doc: str
    def __init__(self, name: _Optional[str] = ..., input: _Optional[_Iterable[_Union[Signature.Binding, _Mapping]]] = ..., output: _Optional[_Iterable[_Union[Signature.Binding, _Mapping]]] = ..., target: _Optional[_Iterable[str]] = ..., method: _Optional[str] = ..., doc: _Optional[str] = ...) -> None: ...

class Collection(_message.Message):
    __slots__ = ("name", "item")
    class Item(_message.Message):
        __slots__ = ("variable", "tensor", "operation", "i", "d", "s")
        VARIABLE_FIELD_NUMBER: _ClassVar[int]
        TENSOR_FIELD_NUMBER: _ClassVar[int]
        OPERATION_FIELD_NUMBER: _ClassVar[int]
        I_FIELD_NUMBER: _ClassVar[int]
        D_FIELD_NUMBER: _ClassVar[int]
        S_FIELD_NUMBER: _ClassVar[int]
        variable: str
        tensor: str
        operation: str
        i: int
        d: float
        s: bytes
        def __init__(self, variable: _Optional[str] = ..., tensor: _Optional[str] = ..., operation: _Optional[str] = ..., i: _Optional[int] = ..., d: _Optional[float] = ..., s: _Optional[bytes] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    name: str
    item: _containers.RepeatedCompositeFieldContainer[Collection.Item]
    def __init__(self, name: _Optional[str] = ..., item: _Optional[_Iterable[_Union[Collection.Item, _Mapping]]] = ...) -> None: ...

class Saver(_message.Message):
    __slots__ = ("variable", "key", "max_to_keep", "keep_every_hours", "sharded")
    VARIABLE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    MAX_TO_KEEP_FIELD_NUMBER: _ClassVar[int]
    KEEP_EVERY_HOURS_FIELD_NUMBER: _ClassVar[int]
    SHARDED_FIELD_NUMBER: _ClassVar[int]
    variable: _containers.RepeatedScalarFieldContainer[str]
    key: _containers.RepeatedScalarFieldContainer[str]
    max_to_keep: int
    keep_every_hours: float
    sharded: bool
    def __init__(self, variable: _Optional[_Iterable[str]] = ..., key: _Optional[_Iterable[str]] = ..., max_to_keep: _Optional[int] = ..., keep_every_hours: _Optional[float] = ..., sharded: bool = ...) -> None: ...

class Rewrite(_message.Message):
    __slots__ = ("name", "approximate", "detail")
    NAME_FIELD_NUMBER: _ClassVar[int]
    APPROXIMATE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    name: str
    approximate: bool
    detail: str
    def __init__(self, name: _Optional[str] = ..., approximate: bool = ..., detail: _Optional[str] = ...) -> None: ...

class SelfTest(_message.Message):
    __slots__ = ("signature", "input", "output", "numerics")
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    NUMERICS_FIELD_NUMBER: _ClassVar[int]
    signature: str
    input: _containers.RepeatedScalarFieldContainer[int]
    output: _containers.RepeatedScalarFieldContainer[int]
    numerics: int
    def __init__(self, signature: _Optional[str] = ..., input: _Optional[_Iterable[int]] = ..., output: _Optional[_Iterable[int]] = ..., numerics: _Optional[int] = ...) -> None: ...

class OpsetImport(_message.Message):
    __slots__ = ("domain", "version")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    domain: str
    version: int
    def __init__(self, domain: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class KeyValue(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class Model(_message.Message):
    __slots__ = ("opset", "graph", "function", "variable", "resource", "signature", "tensor", "collection", "saver", "rewrite", "metadata", "selftest", "producer", "seed", "has_seed", "filling")
    OPSET_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    VARIABLE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    TENSOR_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    SAVER_FIELD_NUMBER: _ClassVar[int]
    REWRITE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SELFTEST_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    HAS_SEED_FIELD_NUMBER: _ClassVar[int]
    FILLING_FIELD_NUMBER: _ClassVar[int]
    opset: _containers.RepeatedCompositeFieldContainer[OpsetImport]
    graph: Graph
    function: _containers.RepeatedCompositeFieldContainer[Function]
    variable: _containers.RepeatedCompositeFieldContainer[Variable]
    resource: _containers.RepeatedCompositeFieldContainer[Resource]
    signature: _containers.RepeatedCompositeFieldContainer[Signature]
    tensor: _containers.RepeatedCompositeFieldContainer[Tensor]
    collection: _containers.RepeatedCompositeFieldContainer[Collection]
    saver: Saver
    rewrite: _containers.RepeatedCompositeFieldContainer[Rewrite]
    metadata: _containers.RepeatedCompositeFieldContainer[KeyValue]
    selftest: _containers.RepeatedCompositeFieldContainer[SelfTest]
    producer: str
    seed: int
    has_seed: bool
    filling: bytes
    def __init__(self, opset: _Optional[_Iterable[_Union[OpsetImport, _Mapping]]] = ..., graph: _Optional[_Union[Graph, _Mapping]] = ..., function: _Optional[_Iterable[_Union[Function, _Mapping]]] = ..., variable: _Optional[_Iterable[_Union[Variable, _Mapping]]] = ..., resource: _Optional[_Iterable[_Union[Resource, _Mapping]]] = ..., signature: _Optional[_Iterable[_Union[Signature, _Mapping]]] = ..., tensor: _Optional[_Iterable[_Union[Tensor, _Mapping]]] = ..., collection: _Optional[_Iterable[_Union[Collection, _Mapping]]] = ..., saver: _Optional[_Union[Saver, _Mapping]] = ..., rewrite: _Optional[_Iterable[_Union[Rewrite, _Mapping]]] = ..., metadata: _Optional[_Iterable[_Union[KeyValue, _Mapping]]] = ..., selftest: _Optional[_Iterable[_Union[SelfTest, _Mapping]]] = ..., producer: _Optional[str] = ..., seed: _Optional[int] = ..., has_seed: bool = ..., filling: _Optional[bytes] = ...) -> None: ...
