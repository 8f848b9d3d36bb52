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
