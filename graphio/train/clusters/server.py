"""Server: this process as the only task of a cluster."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from graphio.execution.config import ConfigProto
from graphio.execution.servers import PREFIX, LocalServer
from graphio.schema.tensorflow_pb2 import ServerDef
from graphio.support import errors
from graphio.train.clusters.cluster_spec import ClusterSpec

__all__ = ["Server"]

#: ports of servers that leave the choice open; nothing listens on them
_ports = itertools.count(1)


class Server:
    """This process as the only task of a cluster: tf.Session(server.target) runs here.

    Sessions of a server share their variables, and "/job:NAME/task:NUMBER" is their device. No
    connection is opened.

    Args:
        server_or_cluster_def: a ServerDef, ClusterDef or ClusterSpec, or a dictionary that makes
            one.
        job_name: None: that of the ServerDef, or the only one.
        task_index: None: that of the ServerDef, or the only one.
        protocol: None: "grpc", the only one.
        config: ConfigProto of sessions that have none.
        start: accepted; a server needs no start.

    Raises:
        TypeError: server_or_cluster_def is something else.
        ValueError: job_name or task_index is missing.
        InternalError: the cluster has no such job or task.
        NotFoundError: another protocol is requested.
        UnimplementedError: the cluster has several tasks.
        UnknownError: a server of this process has the address.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: ConfigProto | None = None,
        start: bool = True,
    ) -> None:
        made = _server_def(server_or_cluster_def, job_name, task_index, protocol)
        cluster = ClusterSpec(made.cluster)
        if made.protocol != "grpc":
            raise errors.NotFoundError(
                message="No server factory registered for the given ServerDef: its protocol is "
                f"{made.protocol!r}, expected 'grpc'"
            )
        address = _address(cluster, made)
        tasks = sum(cluster.num_tasks(job) for job in cluster.jobs)
        if tasks != 1:
            raise errors.UnimplementedError(
                message=f"a cluster of {tasks} tasks: a model runs in one process, so that a "
                "Server needs a cluster of one task. Run the task of a worker with a cluster that "
                'has it alone, such as {"worker": ["localhost:0"]}, and train there'
            )
        host, _, port = address.rpartition(":")
        if port == "0":
            address = f"{host}:{next(_ports)}"
        self._server_def = made
        self._server = LocalServer(PREFIX + address, made.job_name, made.task_index, config)

    def start(self) -> None:
        """Accepted: a server needs no start."""

    def join(self) -> None:
        """Waits without end, as the server of a cluster does."""
        threading.Event().wait()

    @property
    def server_def(self) -> ServerDef:
        """The cluster and the task as a message."""
        return self._server_def

    @property
    def target(self) -> str:
        """The target of sessions, such as "grpc://localhost:2222"."""
        return self._server.target

    @staticmethod
    def create_local_server(config: ConfigProto | None = None, start: bool = True) -> Server:
        """A server of the job "local", with an unused port.

        Args:
            config, start: as Server's.
        """
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)


def _server_def(
    given: Any, job_name: str | None, task_index: int | None, protocol: str | None
) -> ServerDef:
    """The message of a server; arguments that are given replace its fields.

    Raises:
        TypeError: given makes no ClusterSpec.
        ValueError: job_name or task_index is missing.
    """
    made = ServerDef()
    if isinstance(given, ServerDef):
        made.CopyFrom(given)
        job_name = made.job_name if job_name is None else job_name
        task_index = made.task_index if task_index is None else task_index
        protocol = (made.protocol or None) if protocol is None else protocol
    else:
        try:
            cluster = ClusterSpec(given)
        except TypeError:
            raise TypeError(
                "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or "
                "`tf.train.ClusterSpec`."
            ) from None
        made.cluster.CopyFrom(cluster.as_cluster_def())
        if job_name is None:
            job_name = _only(cluster.jobs, "job_name")
        if task_index is None:
            task_index = _only(cluster.task_indices(job_name), "task_index")
    made.job_name, made.task_index, made.protocol = job_name, task_index, protocol or "grpc"
    return made


def _address(cluster: ClusterSpec, server: ServerDef) -> str:
    """The address of a server's task. Raises InternalError: it is not in the cluster."""
    try:
        return cluster.task_address(server.job_name, server.task_index)
    except ValueError as error:
        raise errors.InternalError(
            message=f"{error}: the job or task of a Server was not defined in its cluster {cluster}"
        ) from None


def _only(values: list[Any], name: str) -> Any:
    if len(values) != 1:
        raise ValueError(f"Must specify an explicit `{name}`.")
    return values[0]
