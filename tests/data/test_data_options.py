"""tf.data.Options and its groups."""

from __future__ import annotations

from typing import Any

import pytest

import graphio as tf

E = tf.data.experimental
GROUPS = {
    "experimental_distribute": E.DistributeOptions,
    "experimental_optimization": E.OptimizationOptions,
    "experimental_stats": E.StatsOptions,
    "experimental_threading": E.ThreadingOptions,
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups_start_empty_and_are_of_one_class(name: str) -> None:
    one, two = tf.data.Options(), tf.data.Options()
    group = getattr(one, name)
    assert group is getattr(one, name) and group is not getattr(two, name)
    assert type(group) is GROUPS[name] and group == GROUPS[name]() and one == two
    with pytest.raises(TypeError, match=f'"{name.replace("experimental_thr", "thr")}" must be'):
        setattr(one, name, 3)
    with pytest.raises(AttributeError, match=r"Cannot set the property wrong on \w+Options\."):
        group.wrong = 3
    with pytest.raises(AttributeError):
        group.wrong  # noqa: B018


def test_values_have_the_types_and_defaults_of_tensorflow() -> None:
    options = tf.data.Options()
    assert options.experimental_distribute.auto_shard is True
    assert options.experimental_stats.prefix == options.experimental_stats.counter_prefix == ""
    assert options.experimental_optimization.map_vectorization == E.MapVectorizationOptions()
    for group, name, bad, good in (
        (options, "experimental_deterministic", 1, False),
        (options, "experimental_slack", "yes", True),
        (options, "experimental_stateful_whitelist", "Map", ["Map"]),
        (options.experimental_optimization, "map_fusion", 1, True),
        (options.experimental_optimization, "autotune_cpu_budget", 1.5, 2),
        (options.experimental_optimization.map_vectorization, "enabled", None, True),
        (options.experimental_threading, "private_threadpool_size", "2", 2),
        (options.experimental_distribute, "num_devices", 2.0, 2),
        (options.experimental_stats, "aggregator", "x", E.StatsAggregator()),
        (options.experimental_stats, "prefix", 3, "train"),
    ):
        with pytest.raises(TypeError, match="must be of type"):
            setattr(group, name, bad)
        setattr(group, name, good)
        assert getattr(group, name) == good and options != tf.data.Options()


def test_the_old_and_the_new_name_are_one_option() -> None:
    options = tf.data.Options()
    options.experimental_threading.private_threadpool_size = 3
    options.experimental_deterministic = False
    assert options.threading.private_threadpool_size == 3 and options.deterministic is False


def test_options_are_merged_along_the_pipeline() -> None:
    def wished(**names: Any) -> tf.data.Options:
        options = tf.data.Options()
        for name, value in names.items():
            group: Any = options
            *path, last = name.split("__")
            for part in path:
                group = getattr(group, part)
            setattr(group, last, value)
        return options

    data = tf.data.Dataset.range(3)
    one = wished(experimental_slack=True, experimental_optimization__map_fusion=True)
    two = wished(experimental_slack=False, experimental_optimization__noop_elimination=False)
    merged = one.merge(two)
    assert merged.experimental_slack is False and one.experimental_slack is True
    assert merged.experimental_optimization.map_fusion is True
    assert merged.experimental_optimization.noop_elimination is False
    assert data.with_options(one).map(lambda x: x).with_options(two).options() == merged
    both = tf.data.Dataset.zip((data.with_options(one), data.with_options(two)))
    assert both.options() == merged and data.options() == tf.data.Options()
    listed = wished(framework_type=["a"]).merge(wished(framework_type=["b", "a"]))
    assert listed.framework_type == ["a", "b"]
    with pytest.raises(TypeError, match="Could not merge"):
        one.merge(E.StatsOptions())
    for frozen in (both.options(), both.options().experimental_optimization):
        with pytest.raises(ValueError, match="has no effect"):
            frozen.experimental_slack = True
    with pytest.raises(NotImplementedError, match="latency_all_edges"):
        data.with_options(wished(experimental_stats__latency_all_edges=True))
