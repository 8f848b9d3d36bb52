"""tf.test.Benchmark: the time of runs, reported by name."""

from __future__ import annotations

import inspect
import statistics
import time
from typing import Any

from graphio.execution.config import ConfigProto
from graphio.execution.session import Session, get_default_session
from graphio.support import api_guard, logging

__all__ = ["Benchmark", "benchmark_config"]


@api_guard.unguarded
def benchmark_config() -> ConfigProto:
    """A ConfigProto for benchmarks, in which TensorFlow leaves dependencies of a graph as they are;
    graphio's sessions run the same with it."""
    config = ConfigProto()
    config.graph_options.rewrite_options.dependency_optimization = 2  # RewriterConfig.OFF
    return config


class Benchmark:
    """The base of classes whose methods measure runs.

    Example:
        class Sums(tf.test.Benchmark):
            def benchmark_sum(self):
                with tf.Session() as sess:
                    self.run_op_benchmark(sess, total, name="small")
    """

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether this is the base class itself."""
        return cls is Benchmark

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Runs an operation or tensor and reports the median time of a run.

        Args:
            sess: the Session.
            op_or_tensor: what it fetches.
            feed_dict: of each run.
            burn_iters: runs before those that are measured.
            min_iters: runs that are measured.
            store_trace: whether one more run is traced; its trace is in the result alone.
            store_memory_usage: accepted: no memory is measured by allocators.
            name: of the report; None: that of the calling method.
            extras: more for the report.
            mbs: megabytes that a run moves, of which the throughput is computed.

        Returns:
            iters; wall_time: seconds; extras; name; throughput: megabytes a second; and
            full_trace_chrome_format with store_trace.

        Raises:
            ValueError: min_iters is less than 1.
        """
        if min_iters < 1:
            raise ValueError(f"run_op_benchmark: min_iters is {min_iters}, expected 1 or more")
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict=feed_dict)
        seconds = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict=feed_dict)
            seconds.append(time.perf_counter() - start)
        median = statistics.median(seconds)
        values: dict[str, Any] = {
            "iters": min_iters,
            "wall_time": median,
            "extras": {} if extras is None else extras,
            "name": name,
            "throughput": mbs / median,
        }
        self.report_benchmark(**values)
        if store_trace:
            values["full_trace_chrome_format"] = _trace(sess, op_or_tensor, feed_dict)
        return values

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
        metrics: Any = None,
    ) -> None:
        """Logs the figures of a benchmark, those that are None left out.

        Args:
            iters: number of runs.
            cpu_time, wall_time: seconds.
            throughput: megabytes a second.
            extras: further figures by name.
            name: None: that of the calling method.
            metrics: dicts of name and value.

        Raises:
            ValueError: no method of a Benchmark calls it and there is no name.
        """
        figures = {
            "iters": iters, "cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput,
            "extras": extras or None, "metrics": metrics,
        }  # fmt: skip
        listed = ", ".join(f"{key}: {value}" for key, value in figures.items() if value is not None)
        logging.info("Benchmark [%s] %s", self._name(name), listed)

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, or of nested lists and dicts of them.

        They come from a run of the default session or, where there is none, of a new one.
        """
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with Session() as session:
            return session.run(tensors)

    def _name(self, given: str | None) -> str:
        """The class and the name of its outermost method that is running, or the given one."""
        frames = inspect.stack()
        found = [f.function for f in frames if f.frame.f_locals.get("self") is self]
        return f"{type(self).__name__}.{given or found[-1]}"


def _trace(sess: Any, fetched: Any, feed_dict: Any) -> str:
    from graphio.execution.config import RunOptions
    from graphio.execution.run_metadata import RunMetadata
    from graphio.observe.timeline import Timeline

    options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    sess.run(fetched, feed_dict=feed_dict, options=options, run_metadata=metadata)
    return str(Timeline(metadata.step_stats).generate_chrome_trace_format())
