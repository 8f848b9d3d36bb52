"""Statistics of pipelines: latency_stats, bytes_produced_stats, StatsAggregator."""

from __future__ import annotations

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf

D = tf.data.Dataset
E = tf.data.experimental


def kept(summary: bytes) -> dict[str, tf.HistogramProto]:
    return {value.tag: value.histo for value in tf.Summary.FromString(summary).value}


@pytest.mark.parametrize("target", TARGETS)
def test_an_aggregator_counts_elements_and_their_bytes(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        aggregator = E.StatsAggregator()
        options = tf.data.Options()
        options.experimental_stats.aggregator = aggregator
        data = D.range(10).map(lambda i: (tf.tile([i], [i]), tf.as_string(i)))
        data = data.apply(E.bytes_produced_stats("bytes")).apply(E.latency_stats("latency"))
        step = data.with_options(options).make_one_shot_iterator().get_next()
        silent = data.make_one_shot_iterator().get_next()
        summary = aggregator.get_summary()
        assert kept(session.run(summary)) == {}
        session.run(silent)
        sizes = 8 * np.arange(10) + 1  # int64, and one character
        for i in range(10):
            session.run(step)
            found = kept(session.run(summary))
            assert sorted(found) == ["bytes", "latency"]
            for histogram in found.values():
                assert histogram.num == sum(histogram.bucket) == i + 1
            assert found["bytes"].sum == sizes[: i + 1].sum()
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(step)
        found = kept(session.run(summary))
        assert found["latency"].num == 10 and found["latency"].min >= 0
        expected = np.square(sizes.astype(float)).sum()
        bytes_ = found["bytes"]
        assert (bytes_.min, bytes_.max, bytes_.sum_squares) == (1, 73, expected)
    with tf.Session(graph=summary.graph, target=target) as other:
        assert kept(other.run(summary)) == {}


@pytest.mark.parametrize("target", TARGETS)
def test_statistics_have_a_prefix_and_come_together(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        aggregator = tf.contrib.data.StatsAggregator()
        data = D.range(3).apply(tf.contrib.data.latency_stats("latency")).repeat(2)
        joined = tf.contrib.data.set_stats_aggregator(aggregator, "train")
        steps = [data.apply(joined).make_one_shot_iterator().get_next() for _ in range(2)]
        for _ in range(6):
            session.run(steps)
        found = kept(session.run(aggregator.get_summary()))
        assert {tag: histogram.num for tag, histogram in found.items()} == {"train::latency": 12}
