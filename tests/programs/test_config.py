"""tf.config: devices and settings."""

from __future__ import annotations

import pytest

import graphio as tf


def test_the_processor_is_the_only_device() -> None:
    (device,) = tf.config.list_physical_devices()
    assert device == ("/physical_device:CPU:0", "CPU")
    assert tf.config.experimental.list_physical_devices("GPU") == []
    assert tf.config.experimental.list_logical_devices("CPU") == [("/device:CPU:0", "CPU")]
    assert tf.config.experimental_list_devices() == ["/job:localhost/replica:0/task:0/device:CPU:0"]


def test_all_devices_are_visible() -> None:
    experimental = tf.config.experimental
    experimental.set_visible_devices([], "GPU")
    experimental.set_visible_devices(tf.config.list_physical_devices("CPU"), "CPU")
    assert experimental.get_visible_devices("CPU") == tf.config.list_physical_devices()
    with pytest.raises(ValueError, match="the processor has to be visible"):
        experimental.set_visible_devices([], "CPU")
    with pytest.raises(ValueError, match="Unrecognized device: 'GPU:0'"):
        experimental.set_visible_devices("GPU:0")


def test_memory_of_gpus_is_refused_for_the_processor() -> None:
    (device,) = tf.config.list_physical_devices()
    experimental = tf.config.experimental
    assert experimental.get_memory_growth(device) is None
    with pytest.raises(ValueError, match="Cannot set memory growth on non-GPU devices"):
        experimental.set_memory_growth(device, True)
    with pytest.raises(ValueError, match="Unrecognized device"):
        experimental.set_memory_growth("GPU:0", True)
    part = experimental.VirtualDeviceConfiguration(memory_limit=1024)
    with pytest.raises(ValueError, match="Setting memory limit on CPU"):
        experimental.set_virtual_device_configuration(device, [part])
    empty = experimental.VirtualDeviceConfiguration()
    with pytest.raises(ValueError, match="is not divided"):
        experimental.set_virtual_device_configuration(device, [empty, empty])
    assert experimental.get_virtual_device_configuration(device) is None


def test_settings_are_kept() -> None:
    threading = tf.config.threading
    before = threading.get_intra_op_parallelism_threads(), tf.config.get_soft_device_placement()
    threading.set_intra_op_parallelism_threads(3)
    threading.set_inter_op_parallelism_threads(2)
    tf.config.set_soft_device_placement(True)
    assert threading.get_intra_op_parallelism_threads() == 3
    assert threading.get_inter_op_parallelism_threads() == 2
    assert tf.config.get_soft_device_placement() is True
    threading.set_intra_op_parallelism_threads(before[0])
    threading.set_inter_op_parallelism_threads(0)
    tf.config.set_soft_device_placement(before[1])
    assert tf.config.experimental.get_synchronous_execution() is True
    tf.config.experimental.set_synchronous_execution(True)
    with pytest.raises(ValueError, match="a run is over when"):
        tf.config.experimental.set_synchronous_execution(False)


def test_wishes_for_rewrites_are_kept() -> None:
    optimizer = tf.config.optimizer
    switches = {"disable_model_pruning": False, "disable_meta_optimizer": False}
    assert (optimizer.get_jit(), optimizer.get_experimental_options()) == (False, switches)
    optimizer.set_experimental_options(
        {"constant_folding": False, "remapping": True, "min_graph_nodes": 7, "unknown": 1}
    )
    kept = {"constant_folding": False, "remapping": True, "min_graph_nodes": 7}
    assert optimizer.get_experimental_options() == {**kept, **switches}
    optimizer.set_experimental_options({"constant_folding": None, "disable_meta_optimizer": True})
    kept = {"remapping": True, "min_graph_nodes": 7, "disable_meta_optimizer": True}
    assert optimizer.get_experimental_options() == {**switches, **kept}
    optimizer.set_experimental_options(dict.fromkeys((*kept, "constant_folding")))
    assert optimizer.get_experimental_options() == switches
    optimizer.set_jit(True)
    assert optimizer.get_jit() is True
    optimizer.set_jit(False)


def test_wishes_for_devices_are_kept() -> None:
    experimental, debugging = tf.config.experimental, tf.debugging
    assert debugging.get_log_device_placement() is False
    debugging.set_log_device_placement(True)
    assert debugging.get_log_device_placement() is True
    debugging.set_log_device_placement(False)
    assert experimental.get_device_policy() == "silent"
    experimental.set_device_policy("warn")
    assert experimental.get_device_policy() == "warn"
    experimental.set_device_policy(None)
    assert experimental.get_device_policy() == "silent"
    with pytest.raises(ValueError, match="Not a valid device policy: 'loud'"):
        experimental.set_device_policy("loud")
    tf.config.experimental_run_functions_eagerly(True)
    assert not tf.executing_eagerly()
