"""tf.data.Options, and the groups of options in tf.data.experimental: what a program may wish.

No option but experimental_stats has an effect here: the order of elements is always that of the
sequential pipeline, and datasets choose their threads themselves. As in TensorFlow 2 the later of
two values wins where options are merged; TensorFlow 1 refuses that.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from graphio.data.statistics.aggregator import StatsAggregator

__all__ = [
    "DistributeOptions",
    "MapVectorizationOptions",
    "OptimizationOptions",
    "Options",
    "StatsOptions",
    "ThreadingOptions",
]


class _Option:
    """An attribute of OptionsBase that takes values of one type.

    Args:
        kind: the type.
        what: the attribute's documentation.
        default: makes the value of an option that is not set.
    """

    def __init__(
        self, kind: type | tuple[type, ...], what: str, default: Callable[[], Any] = lambda: None
    ) -> None:
        self.kind, self.__doc__, self.default = kind, what, default
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, options: OptionsBase | None, owner: type) -> Any:
        if options is None:
            return self
        return options._values.setdefault(self.name, self.default())

    def __set__(self, options: OptionsBase, value: Any) -> None:
        if not isinstance(value, self.kind):
            raise TypeError(
                f'Property "{self.name}" must be of type {self.kind}, got: {value!r} '
                f"(type: {type(value)!r})"
            )
        options._values[self.name] = value


def _alias(name: str) -> property:
    """Another name of an option."""

    def assign(options: OptionsBase, value: Any) -> None:
        setattr(options, name, value)

    return property(lambda options: getattr(options, name), assign, None, f"The same as {name}.")


class OptionsBase:
    """Options that a program sets; two are equal where all have the same values.

    Setting an attribute that is not an option raises AttributeError, a value of another type
    TypeError.
    """

    _values: dict[str, Any]
    _frozen: bool

    def __init__(self) -> None:
        object.__setattr__(self, "_values", {})
        object.__setattr__(self, "_frozen", False)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._frozen:
            raise ValueError(
                "Mutating `tf.data.Options()` returned by `tf.data.Dataset.options()` has no "
                "effect. Use `tf.data.Dataset.with_options(options)` to set or update dataset "
                "options."
            )
        if not hasattr(type(self), name):
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        names = self._values.keys() | other._values.keys()
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def merge(self, options: Any) -> Any:
        """New options: these, with what is set in others of the same class over them. Lists are
        joined.

        Raises:
            TypeError: options is of another class.
        """
        if type(options) is not type(self):
            raise TypeError(
                f"Could not merge incompatible options of type {type(options)!r} and "
                f"{type(self)!r}."
            )
        made = type(self)()
        made._take(self)
        made._take(options)
        return made

    def _take(self, other: OptionsBase) -> None:
        """Sets what is set in other."""
        for name, value in other._values.items():
            mine = getattr(self, name)
            if isinstance(value, OptionsBase):
                mine._take(value)
            elif isinstance(value, list):
                setattr(self, name, list(dict.fromkeys([*(mine or ()), *value])))
            elif value is not None:
                setattr(self, name, value)

    def _freeze(self) -> None:
        for value in self._values.values():
            if isinstance(value, OptionsBase):
                value._freeze()
        object.__setattr__(self, "_frozen", True)


class MapVectorizationOptions(OptionsBase):
    """Options of vectorized maps."""

    enabled = _Option(bool, "Whether maps are vectorized.")
    use_choose_fastest = _Option(bool, "Whether the faster of both forms is chosen.")


class OptimizationOptions(OptionsBase):
    """Options of how a pipeline is rewritten before it runs."""

    apply_default_optimizations = _Option(bool, "Whether rewriting is on where it is not set.")
    autotune = _Option(bool, "Whether buffers and threads are tuned.")
    autotune_algorithm = _Option(int, "How they are tuned.")
    autotune_buffers = _Option(bool, "Whether buffers are tuned.")
    autotune_cpu_budget = _Option(int, "Processors for tuned threads.")
    filter_fusion = _Option(bool, "Whether filters are joined.")
    filter_parallelization = _Option(bool, "Whether filters run in parallel.")
    filter_with_random_uniform_fusion = _Option(bool, "Whether random filters become sampling.")
    hoist_random_uniform = _Option(bool, "Whether random numbers are drawn outside of maps.")
    inject_prefetch = _Option(bool, "Whether a prefetch is added at the end.")
    map_and_batch_fusion = _Option(bool, "Whether map and batch are joined.")
    map_and_filter_fusion = _Option(bool, "Whether map and filter are joined.")
    map_fusion = _Option(bool, "Whether maps are joined.")
    map_parallelization = _Option(bool, "Whether maps run in parallel.")
    map_vectorization = _Option(
        MapVectorizationOptions, "Options of vectorized maps.", MapVectorizationOptions
    )
    noop_elimination = _Option(bool, "Whether steps without an effect are left out.")
    parallel_batch = _Option(bool, "Whether the elements of a batch are copied in parallel.")
    seq_interleave_prefetch = _Option(bool, "Whether interleave reads ahead.")
    shuffle_and_repeat_fusion = _Option(bool, "Whether shuffle and repeat are joined.")


class ThreadingOptions(OptionsBase):
    """Options of threads."""

    max_intra_op_parallelism = _Option(int, "Threads of one operation.")
    private_threadpool_size = _Option(int, "Threads of the pipeline.")


class DistributeOptions(OptionsBase):
    """Options of pipelines on several machines."""

    auto_shard = _Option(bool, "Whether each machine takes its part.", lambda: True)
    auto_shard_policy = _Option(enum.Enum, "How the parts are taken.")
    num_devices = _Option(int, "Devices that take elements.")
    _make_stateless = _Option(bool, "Whether steps with a state are left out.")


class StatsOptions(OptionsBase):
    """Options of statistics; see StatsAggregator."""

    aggregator = _Option(StatsAggregator, "Takes the statistics of the pipeline.")
    prefix = _Option(str, "Goes before the names of statistics, with ::.", str)
    counter_prefix = _Option(str, "Goes before the names of counters, with ::.", str)
    latency_all_edges = _Option(bool, "Whether the time of every step is taken.")


class AutotuneOptions(OptionsBase):
    """Options of how buffers and threads are tuned."""

    autotune_algorithm = _Option(enum.Enum, "How they are tuned.")
    enabled = _Option(bool, "Whether they are tuned.")
    cpu_budget = _Option(int, "Processors for tuned threads.")
    ram_budget = _Option(int, "Bytes for tuned buffers.")
    initial_parallelism = _Option(int, "Threads at the start.")
    min_parallelism = _Option(int, "Threads at least.")


class ServiceOptions(OptionsBase):
    """Options of pipelines that another machine runs."""

    pinned = _Option(bool, "Whether memory is pinned.")


class Options(OptionsBase):
    """Options of a pipeline, for Dataset.with_options.

    An option that is not set is None, or an empty group. Those that Dataset.options gives cannot
    be set: that raises ValueError.
    """

    autotune = _Option(AutotuneOptions, "How buffers and threads are tuned.", AutotuneOptions)
    dataset_name = _Option(str, "A name of the pipeline.")
    deterministic = _Option(bool, "Whether the order is that of the sequential pipeline.")
    experimental_deterministic = _alias("deterministic")
    experimental_distribute = _Option(DistributeOptions, "Several machines.", DistributeOptions)
    experimental_external_state_policy = _Option(enum.Enum, "What is done about other state.")
    experimental_optimization = _Option(
        OptimizationOptions, "How a pipeline is rewritten.", OptimizationOptions
    )
    experimental_service = _Option(ServiceOptions, "Other machines.", ServiceOptions)
    experimental_slack = _Option(bool, "Whether the last prefetch waits.")
    experimental_stateful_whitelist = _Option(list, "Operations whose state is not saved.")
    experimental_stats = _Option(StatsOptions, "Statistics of the pipeline.", StatsOptions)
    experimental_symbolic_checkpoint = _Option(bool, "Whether positions are saved by number.")
    experimental_threading = _alias("threading")
    experimental_warm_start = _Option(bool, "Whether it starts before the first element.")
    framework_type = _Option(list, "Names of libraries that made the pipeline.")
    threading = _Option(ThreadingOptions, "Threads of the pipeline.", ThreadingOptions)
