"""tf.test: test cases that run graphs, and numeric checks of gradients."""

from graphio.testing.benchmark import Benchmark, benchmark_config
from graphio.testing.stubs import StubOutForTesting
from graphio.testing.test_case import (
    TestCase,
    assert_equal_graph_def,
    compute_gradient,
    compute_gradient_error,
    get_temp_dir,
    gpu_device_name,
    is_built_with_cuda,
    is_built_with_gpu_support,
    is_built_with_rocm,
    is_gpu_available,
    main,
    mock,
    test_src_dir_path,
)

__all__ = [
    "Benchmark",
    "StubOutForTesting",
    "TestCase",
    "assert_equal_graph_def",
    "benchmark_config",
    "compute_gradient",
    "compute_gradient_error",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_gpu_available",
    "main",
    "mock",
    "test_src_dir_path",
]
