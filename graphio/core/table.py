"""The modules of TensorFlow's messages, and where graphio has each message."""

from __future__ import annotations

__all__ = ["MODULES"]

_TENSORFLOW = "graphio.schema.tensorflow_pb2"
_RUN = "graphio.schema.run_metadata_pb2"
_TYPES = (
    "DT_INVALID", "DT_FLOAT", "DT_DOUBLE", "DT_INT32", "DT_UINT8", "DT_INT16", "DT_INT8",
    "DT_STRING", "DT_COMPLEX64", "DT_INT64", "DT_BOOL", "DT_QINT8", "DT_QUINT8", "DT_QINT32",
    "DT_BFLOAT16", "DT_QINT16", "DT_QUINT16", "DT_UINT16", "DT_COMPLEX128", "DT_HALF",
    "DT_RESOURCE", "DT_VARIANT", "DT_UINT32", "DT_UINT64",
)  # fmt: skip


def _at(module: str, *names: str) -> dict[str, str]:
    return {name: f"{module}:{name}" for name in names}


def _public(*names: str) -> dict[str, str]:
    """The classes that programs get from graphio, too."""
    return {name.rpartition(".")[2]: name for name in names}


#: module below tensorflow.core -> message -> public path, or module:name
MODULES: dict[str, dict[str, str]] = {
    "example.example_pb2": _public("train.Example", "train.SequenceExample"),
    "example.feature_pb2": _public(
        "train.BytesList", "train.Feature", "train.FeatureList", "train.FeatureLists",
        "train.Features", "train.FloatList", "train.Int64List",
    ),
    "framework.attr_value_pb2": {**_public("AttrValue"), **_at(_TENSORFLOW, "NameAttrList")},
    "framework.cost_graph_pb2": _at(_RUN, "CostGraphDef"),
    "framework.device_attributes_pb2": {
        "DeviceAttributes": "graphio.python.internals.devices:DeviceAttributes"
    },
    "framework.function_pb2": _at(_TENSORFLOW, "FunctionDef", "FunctionDefLibrary"),
    "framework.graph_pb2": _public("GraphDef"),
    "framework.node_def_pb2": _public("NodeDef"),
    "framework.op_def_pb2": _at(_TENSORFLOW, "OpDef"),
    "framework.step_stats_pb2": _at(
        _RUN, "DeviceStepStats", "NodeExecStats", "NodeOutput", "StepStats"
    ),
    "framework.summary_pb2": _public("HistogramProto", "Summary", "SummaryMetadata"),
    "framework.tensor_description_pb2": _at(_RUN, "TensorDescription"),
    "framework.tensor_pb2": _at(_TENSORFLOW, "TensorProto"),
    "framework.tensor_shape_pb2": {"TensorShapeProto": "graphio.protos.node_def:TensorShapeProto"},
    "framework.types_pb2": {
        "DataType": f"{_TENSORFLOW}:DataType",
        **_at(_TENSORFLOW, *_TYPES),
    },
    "framework.variable_pb2": {"VariableDef": "graphio.protos.variable_def:VariableDef"},
    "framework.versions_pb2": {"VersionDef": "graphio.protos.graph_def:VersionDef"},
    "protobuf.cluster_pb2": _public("train.ClusterDef", "train.JobDef"),
    "protobuf.config_pb2": _public(
        "ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "RunMetadata",
        "RunOptions",
    ),
    "protobuf.meta_graph_pb2": {
        **_public("MetaGraphDef", "TensorInfo"),
        **_at(_TENSORFLOW, "AssetFileDef", "CollectionDef"),
        "SignatureDef": "graphio.protos.signature_def:SignatureDef",
    },
    "protobuf.rewriter_config_pb2": _at("graphio.execution.config", "RewriterConfig"),
    "protobuf.saved_model_pb2": _at(_TENSORFLOW, "SavedModel"),
    "protobuf.saver_pb2": _public("train.SaverDef"),
    "protobuf.tensorflow_server_pb2": _public("train.ServerDef"),
    "util.event_pb2": _public("Event", "SessionLog"),
}  # fmt: skip
