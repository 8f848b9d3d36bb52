"""Options of a session and of a run, under TensorFlow's names.

A session looks at its threads, its devices and soft placement; most others are accepted for the
sake of programs that set them. Fields have TensorFlow's names and types.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "RewriterConfig",
    "RunOptions",
]  # fmt: skip


class _Options:
    """Fields with defaults; another field or a value of another type is refused, as protobuf's
    messages do.

    Raises:
        ValueError: there is no such field.
        AttributeError: there is no such field, when it is set later.
        TypeError: a value of another type.
    """

    #: a field's default, or the class of what it holds
    _fields: ClassVar[dict[str, Any]] = {}

    def __init__(self, **values: Any) -> None:
        for name in values:
            if name not in self._fields:
                raise ValueError(f'{type(self).__name__} has no "{name}" field.')
        for name, default in self._fields.items():
            given = values.get(name)
            fresh = default() if callable(default) else default
            value = fresh if given is None else self._checked(name, given)
            object.__setattr__(self, name, value)

    def _checked(self, name: str, value: Any) -> Any:
        default = self._fields[name]
        kind = default if isinstance(default, type) else type(default)
        fits = isinstance(value, kind) and (kind is not int or not isinstance(value, bool))
        if kind in (int, float, bool):
            fits = isinstance(value, (int, float) if kind is float else int)
            if kind is bool and fits and not isinstance(value, bool) and value not in (0, 1):
                fits = False
        if issubclass(kind, list) and isinstance(value, (list, tuple)):
            fits, value = True, kind(value)
        if issubclass(kind, _Options) and isinstance(value, dict):
            fits, value = True, kind(**value)
        if not fits:
            raise TypeError(
                f"{type(self).__name__}.{name} is {value!r} of type {type(value).__name__}, "
                f"expected {kind.__name__}"
            )
        return kind(value) if kind in (bool, float) else value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._fields:
            raise AttributeError(f'{type(self).__name__} has no "{name}" field.')
        object.__setattr__(self, name, self._checked(name, value))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f'{type(self).__name__} has no "{name}" field.')

    def CopyFrom(self, other: Any) -> None:
        """Takes another message's fields."""
        if type(other) is not type(self):
            raise TypeError(f"expected {type(self).__name__}, got {type(other).__name__}")
        for name, value in vars(other).items():
            object.__setattr__(self, name, _copied(value))

    def HasField(self, name: str) -> bool:
        """Whether a field differs from its default."""
        default = self._fields[name]
        return bool(getattr(self, name) != (default() if callable(default) else default))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        given = {name: value for name, value in vars(self).items() if self.HasField(name)}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in given.items())})"


def _copied(value: Any) -> Any:
    if isinstance(value, _Options):
        made = type(value)()
        made.CopyFrom(value)
        return made
    return type(value)(value) if isinstance(value, (dict, list)) else value


class _Experimental(_Options):
    """Accepted: any field."""

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def HasField(self, name: str) -> bool:
        """Whether it was set."""
        return name in vars(self)


class RewriterConfig(_Experimental):
    """Accepted, with any field: rewrites that keep the bits are always applied."""

    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    NO_CONVERSION_ON_CPU, NCHW_TO_NHWC, NHWC_TO_NCHW = 0, 1, 2
    DEFAULT_NUM_ITERS, ONE, TWO = 0, 1, 2
    DEFAULT_MEM_OPT, NO_MEM_OPT, MANUAL, HEURISTICS = 0, 1, 2, 3
    SWAPPING_HEURISTICS, RECOMPUTATION_HEURISTICS, SCHEDULING_HEURISTICS = 4, 5, 6

    def __init__(self, **values: Any) -> None:
        super().__init__(**{"optimizers": [], "auto_parallel": _Experimental(), **values})


class GPUOptions(_Options):
    """Accepted: there is no GPU."""

    Experimental = _Experimental
    _fields: ClassVar[dict[str, Any]] = {
        "per_process_gpu_memory_fraction": 0.0,
        "allow_growth": False,
        "allocator_type": "",
        "deferred_deletion_bytes": 0,
        "visible_device_list": "",
        "polling_active_delay_usecs": 0,
        "polling_inactive_delay_msecs": 0,
        "force_gpu_compatible": False,
        "experimental": _Experimental,
    }


class OptimizerOptions(_Options):
    """Accepted: rewrites that keep the bits are always applied."""

    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    L1, L0 = 0, -1

    _fields: ClassVar[dict[str, Any]] = {
        "do_common_subexpression_elimination": False,
        "do_constant_folding": False,
        "max_folded_constant_in_bytes": 0,
        "do_function_inlining": False,
        "opt_level": 0,
        "global_jit_level": 0,
    }


class GraphOptions(_Options):
    """Accepted; see OptimizerOptions. build_cost_model=n: each n-th run of the same fetches and
    feeds, after the first build_cost_model_after, fills cost_graph of its RunMetadata."""

    _fields: ClassVar[dict[str, Any]] = {
        "enable_recv_scheduling": False,
        "optimizer_options": OptimizerOptions,
        "build_cost_model": 0,
        "build_cost_model_after": 0,
        "infer_shapes": False,
        "place_pruned_graph": False,
        "enable_bfloat16_sendrecv": False,
        "timeline_step": 0,
        "rewrite_options": RewriterConfig,
    }


class ThreadPoolOptionProto(_Options):
    """Accepted: a session has the threads that inter_op_parallelism_threads says."""

    _fields: ClassVar[dict[str, Any]] = {"num_threads": 0, "global_name": ""}


class _Pools(list[ThreadPoolOptionProto]):
    """A list of messages."""

    def add(self, **fields: Any) -> ThreadPoolOptionProto:
        """A new message at the end."""
        self.append(ThreadPoolOptionProto(**fields))
        return self[-1]


class ConfigProto(_Options):
    """Options of a session.

    Args:
        device_count: how many devices of a type there are, as {"CPU": 2}; CPUs alone, one unless
            it says so, and never none.
        intra_op_parallelism_threads: threads of cinfer's kernels; 0: one.
        inter_op_parallelism_threads: how many operations the Python runtime may run at the same
            time; 0 and 1: one after the other.
        allow_soft_placement: True runs on the first CPU what asks for a device that is not there.
        log_device_placement: True writes each operation's device to stderr, once a plan.
        operation_timeout_in_ms: for runs whose RunOptions give none; 0: none.
        gpu_options, graph_options and the others: accepted.
    """

    Experimental = _Experimental
    _fields: ClassVar[dict[str, Any]] = {
        "device_count": dict,
        "intra_op_parallelism_threads": 0,
        "inter_op_parallelism_threads": 0,
        "use_per_session_threads": False,
        "session_inter_op_thread_pool": _Pools,
        "placement_period": 0,
        "device_filters": list,
        "gpu_options": GPUOptions,
        "allow_soft_placement": False,
        "log_device_placement": False,
        "graph_options": GraphOptions,
        "operation_timeout_in_ms": 0,
        "rpc_options": _Experimental,
        "cluster_def": _Experimental,
        "isolate_session_state": False,
        "share_cluster_devices_in_session": False,
        "experimental": _Experimental,
    }


class RunOptions(_Options):
    """Options of one run.

    Args:
        trace_level: NO_TRACE, or any other: run_metadata.step_stats has every operation.
        timeout_in_ms: after which a run that is between two operations ends with
            DeadlineExceededError; 0: none.
        output_partition_graphs: True fills run_metadata.partition_graphs.
        inter_op_thread_pool, report_tensor_allocations_upon_oom, debug_options: accepted.
    """

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3
    Experimental = _Experimental
    _fields: ClassVar[dict[str, Any]] = {
        "trace_level": 0,
        "timeout_in_ms": 0,
        "inter_op_thread_pool": 0,
        "output_partition_graphs": False,
        "debug_options": _Experimental,
        "report_tensor_allocations_upon_oom": False,
        "experimental": _Experimental,
    }
