"""tf.train.ClusterSpec, Server and replica_device_setter, and the sessions of a server."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from graphio.core.protobuf import cluster_pb2, tensorflow_server_pb2

import graphio as tf

CLUSTER = {"worker": ["a:1", "b:2"], "ps": ["c:3"], "sparse": {1: "d:4", 3: "e:5"}}


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def address() -> dict[str, list[str]]:
    return {"job": [f"{uuid.uuid4().hex}:1"]}


def test_a_cluster_has_jobs_and_tasks() -> None:
    made = tf.train.ClusterSpec(CLUSTER)
    assert made.as_dict() == CLUSTER
    assert made == tf.train.ClusterSpec(made)
    assert made == tf.train.ClusterSpec(made.as_cluster_def())
    assert made != tf.train.ClusterSpec({"worker": ["a:1", "b:3"]})
    assert made
    assert not tf.train.ClusterSpec({})
    assert made.jobs == ["worker", "ps", "sparse"]
    assert made.num_tasks("worker") == made.num_tasks("sparse") == 2
    assert made.task_indices("sparse") == [1, 3]
    assert made.task_address("sparse", 3) == "e:5"
    assert made.job_tasks("sparse") == [None, "d:4", None, "e:5"]
    assert str(tf.train.ClusterSpec({"b": ["x"], "a": {1: "y"}})) == (
        "ClusterSpec({'a': {1: 'y'}, 'b': ['x']})"
    )


def test_a_cluster_is_the_message_of_tensorflow() -> None:
    found = tf.train.ClusterSpec({"ps": ["c:3"], "a": {2: "d:4"}}).as_cluster_def()
    # bytes of TensorFlow's ClusterDef
    expected = b"\n\x0c\n\x01a\x12\x07\x08\x02\x12\x03d:4\n\r\n\x02ps\x12\x07\x08\x00\x12\x03c:3"
    assert found == cluster_pb2.ClusterDef.FromString(expected)
    assert found.SerializeToString(deterministic=True) == expected
    assert [job.name for job in found.job] == ["a", "ps"]
    assert isinstance(found.job[0], tf.train.JobDef)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": "x:1"}, "must be a list or a dictionary"),
        ({"a": [1]}, "Task address 1 must be bytes or unicode"),
        ({1: ["x"]}, "Job name 1 must be bytes or unicode"),
        ({"a": {"0": "x"}}, "Task number '0' of job 'a' must be an integer"),
        ("a", "must be a dictionary mapping"),
    ],
)
def test_a_cluster_of_something_else_is_refused(given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        tf.train.ClusterSpec(given)


def test_jobs_and_tasks_that_are_missing_are_named() -> None:
    made = tf.train.ClusterSpec(CLUSTER)
    for ask in (made.num_tasks, made.task_indices, made.job_tasks):
        with pytest.raises(ValueError, match="No such job in cluster: 'chief'"):
            ask("chief")
    with pytest.raises(ValueError, match="No task with index 2 in job 'sparse'"):
        made.task_address("sparse", 2)


def test_variables_go_to_parameter_servers_one_after_the_other() -> None:
    cluster = {"ps": ["a:1", "b:2"], "worker": ["c:3"]}
    with tf.device(tf.train.replica_device_setter(cluster=cluster)):
        made = [tf.Variable(float(n), name=f"v{n}") for n in range(3)]
        total = made[0] + made[1]
        with tf.device("/cpu:1"):
            four = tf.Variable(4.0)
        with tf.device("/job:other"):
            five = tf.Variable(5.0)
    assert [v.device for v in made] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    assert [v.initializer.device for v in made] == [v.device for v in made]
    assert total.device == "/job:worker"
    assert four.device == "/job:ps/task:1/device:CPU:1"
    assert five.device == "/job:other"


def test_a_strategy_and_types_choose_the_tasks() -> None:
    setter = tf.train.replica_device_setter(
        3, "/job:keep/cpu:0", "", ps_ops=["Const"], ps_strategy=lambda op: 2
    )
    with tf.device(setter):
        one, sum_ = tf.constant(1.0), tf.constant(1.0) + 2.0
    assert one.device == "/job:keep/task:2/device:CPU:0"
    assert sum_.device == ""
    with tf.device("/cpu:3"), tf.device(tf.train.replica_device_setter(1, merge_devices=False)):
        assert tf.Variable(1.0).device == "/job:ps/task:0/device:CPU:3"


def test_there_is_no_setter_without_tasks() -> None:
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["a:1"]}) is None
    with pytest.raises(TypeError, match="ps_strategy must be callable"):
        tf.train.replica_device_setter(1, ps_strategy=3)  # type: ignore[arg-type]


def test_sessions_of_a_server_share_its_variables() -> None:
    server = tf.train.Server.create_local_server()
    assert server.target.startswith("grpc://localhost:")
    v = tf.Variable([1.0, 2.0])
    add = v.assign_add([1.0, 1.0])
    with tf.Session(server.target) as one:
        one.run(v.initializer)
        one.run(add)
    with tf.Session(server.target) as two:
        assert two.run(v).tolist() == [2, 3]
        assert [d.name for d in two.list_devices()] == ["/job:local/replica:0/task:0/device:CPU:0"]
        with tf.device("/job:local/task:0"):
            assert two.run(tf.constant(3)) == 3
        with tf.device("/job:worker"), pytest.raises(tf.errors.InvalidArgumentError, match="job:w"):
            two.run(tf.constant(4))
    tf.Session.reset(server.target)
    with tf.Session(server.target) as three:
        with pytest.raises(tf.errors.FailedPreconditionError):
            three.run(v)
    with tf.Session() as other, pytest.raises(tf.errors.FailedPreconditionError):
        other.run(v)


def test_a_server_gives_its_config_to_sessions() -> None:
    config = tf.ConfigProto(device_count={"CPU": 2})
    server = tf.train.Server(address(), config=config)
    assert len(tf.Session(server.target).list_devices()) == 2
    assert len(tf.Session(server.target, config=tf.ConfigProto()).list_devices()) == 1
    assert server.server_def.job_name == "job"
    assert isinstance(server.server_def, tensorflow_server_pb2.ServerDef)


def test_a_server_may_be_described_by_a_message() -> None:
    described = tf.train.ServerDef(job_name="w", task_index=3)
    where = f"{uuid.uuid4().hex}:1"
    described.cluster.CopyFrom(tf.train.ClusterSpec({"w": {3: where}}).as_cluster_def())
    server = tf.train.Server(described)
    assert server.target == f"grpc://{where}"
    assert server.server_def.protocol == "grpc"
    names = [d.name for d in tf.Session(server.target).list_devices()]
    assert names == ["/job:w/replica:0/task:3/device:CPU:0"]


def test_servers_that_cannot_be_are_refused() -> None:
    two = {"worker": ["a:1"], "ps": ["b:2"]}
    with pytest.raises(ValueError, match="explicit `job_name`"):
        tf.train.Server(two)
    with pytest.raises(ValueError, match="explicit `task_index`"):
        tf.train.Server({"worker": ["a:1", "b:2"]}, "worker")
    with pytest.raises(tf.errors.InternalError, match="No such job in cluster: 'chief'"):
        tf.train.Server(two, "chief", 0)
    with pytest.raises(tf.errors.InternalError, match="No task with index 7 in job 'worker'"):
        tf.train.Server({"worker": ["localhost:0"]}, "worker", 7)
    with pytest.raises(TypeError, match="Could not convert `server_or_cluster_def`"):
        tf.train.Server("localhost:1")
    with pytest.raises(tf.errors.UnimplementedError, match="a cluster of 2 tasks: a model runs in"):
        tf.train.Server(two, "ps", 0)
    with pytest.raises(tf.errors.NotFoundError, match="its protocol is 'mpi'"):
        tf.train.Server(address(), protocol="mpi")
    where = address()
    kept = tf.train.Server(where)
    with pytest.raises(tf.errors.UnknownError, match="Could not start gRPC server"):
        tf.train.Server(where)
    assert kept.target
    with pytest.raises(tf.errors.NotFoundError, match=r"no tf.train.Server of this process"):
        tf.Session("grpc://nowhere:1")


def test_a_monitored_session_trains_on_a_server() -> None:
    server = tf.train.Server.create_local_server()
    with tf.device(tf.train.replica_device_setter(1, worker_device="/job:local")):
        step = tf.train.get_or_create_global_step()
        v = tf.get_variable("v", initializer=4.0)
        train = tf.train.GradientDescentOptimizer(0.5).minimize(v * v / 2, global_step=step)
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.train.MonitoredTrainingSession(server.target, is_chief=True, config=config) as session:
        for _ in range(3):
            session.run(train)
        assert session.run([v, step]) == [0.5, 3]


def test_a_negative_number_of_parameter_servers_is_refused() -> None:
    with pytest.raises(ValueError, match="ps_tasks is -1"):
        tf.train.replica_device_setter(ps_tasks=-1)
