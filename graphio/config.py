"""Options of a session, under TensorFlow's names.

There is one device and a run has no races, so most options are accepted for the sake of programs
that set them; threads and device_count are what a session looks at.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = ["ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions"]


class _Options:
    """Fields with defaults; another field is refused, as protobuf's messages do.

    Raises:
        ValueError: there is no such field.
        AttributeError: there is no such field, when it is set later.
    """

    _fields: ClassVar[dict[str, Any]] = {}

    def __init__(self, **values: Any) -> None:
        for name in values:
            if name not in self._fields:
                raise ValueError(f'{type(self).__name__} has no "{name}" field.')
        for name, default in self._fields.items():
            fresh = default() if callable(default) else default
            object.__setattr__(self, name, values.get(name, fresh))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._fields:
            raise AttributeError(f'{type(self).__name__} has no "{name}" field.')
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f'{type(self).__name__} has no "{name}" field.')

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        given = {name: value for name, value in vars(self).items() if value}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in given.items())})"


class GPUOptions(_Options):
    """Accepted: there is no GPU."""

    _fields: ClassVar[dict[str, Any]] = {
        "per_process_gpu_memory_fraction": 0.0,
        "allow_growth": False,
        "visible_device_list": "",
        "allocator_type": "",
        "force_gpu_compatible": False,
    }


class OptimizerOptions(_Options):
    """Accepted: rewrites that keep the bits are always applied."""

    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    L0, L1 = -1, 0

    _fields: ClassVar[dict[str, Any]] = {
        "do_common_subexpression_elimination": False,
        "do_constant_folding": False,
        "do_function_inlining": False,
        "opt_level": 0,
        "global_jit_level": 0,
    }


class GraphOptions(_Options):
    """Accepted; see OptimizerOptions."""

    _fields: ClassVar[dict[str, Any]] = {
        "optimizer_options": OptimizerOptions,
        "place_pruned_graph": False,
        "enable_recv_scheduling": False,
        "infer_shapes": False,
    }


class ConfigProto(_Options):
    """Options of a session.

    Args:
        intra_op_parallelism_threads: threads of cinfer's kernels; 0: one.
        allow_soft_placement, device_count, gpu_options, graph_options, log_device_placement and
        the others: accepted.
    """

    _fields: ClassVar[dict[str, Any]] = {
        "allow_soft_placement": False,
        "device_count": dict,
        "device_filters": list,
        "gpu_options": GPUOptions,
        "graph_options": GraphOptions,
        "inter_op_parallelism_threads": 0,
        "intra_op_parallelism_threads": 0,
        "isolate_session_state": False,
        "log_device_placement": False,
        "operation_timeout_in_ms": 0,
        "placement_period": 0,
        "use_per_session_threads": False,
    }
