"""ClusterSpec: the jobs of a cluster, and the addresses of their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphio.schema.tensorflow_pb2 import ClusterDef

__all__ = ["ClusterSpec"]


class ClusterSpec:
    """Jobs by name, each with the addresses of its tasks by their numbers.

    Args:
        cluster: a dictionary from names to lists of addresses, or to dictionaries from numbers to
            addresses; a ClusterDef; or another ClusterSpec.

    Raises:
        TypeError: cluster is something else, or a name or address is not a string.

    tf.train.ClusterSpec({"worker": ["localhost:2222"]}).num_tasks("worker") is 1.
    """

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster.as_cluster_def()
        if isinstance(cluster, ClusterDef):
            self._tasks = {job.name: dict(job.tasks) for job in cluster.job}
        elif isinstance(cluster, Mapping):
            self._tasks = {name: _numbered(name, tasks) for name, tasks in cluster.items()}
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network "
                f"addresses, or a `ClusterDef` protocol buffer, but it is {cluster!r}"
            )

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def __eq__(self, other: object) -> bool:
        return self._tasks == (other._tasks if isinstance(other, ClusterSpec) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        jobs = self.as_dict()
        return "ClusterSpec({" + ", ".join(f"{n!r}: {jobs[n]!r}" for n in sorted(jobs)) + "})"

    def as_dict(self) -> dict[str, Any]:
        """From names of jobs to lists of addresses; to dictionaries where numbers are missing."""
        found: dict[str, Any] = {}
        for name, tasks in self._tasks.items():
            dense = tasks and sorted(tasks) == list(range(len(tasks)))
            found[name] = self.job_tasks(name) if dense else dict(sorted(tasks.items()))
        return found

    def as_cluster_def(self) -> ClusterDef:
        """The cluster as a message, with jobs in the order of their names."""
        made = ClusterDef()
        for name in sorted(self._tasks):
            job = made.job.add(name=name)
            for number, address in self._tasks[name].items():
                job.tasks[number] = address
        return made

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._tasks)

    def num_tasks(self, job_name: str) -> int:
        """The number of a job's tasks.

        Raises:
            ValueError: there is no such job.
        """
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of a job's tasks, sorted.

        Raises:
            ValueError: there is no such job.
        """
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task.

        Raises:
            ValueError: there is no such job, or the job has no such task.
        """
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job's tasks; None for numbers that are missing.

        Raises:
            ValueError: there is no such job.
        """
        tasks = self._job(job_name)
        return [tasks.get(number) for number in range(max(tasks, default=-1) + 1)]

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._tasks:
            raise ValueError(f"No such job in cluster: {name!r}")
        return self._tasks[name]


def _numbered(name: Any, tasks: Any) -> dict[int, str]:
    """The addresses of a job by their numbers.

    Raises:
        TypeError: the name, or an address, is not a string, or tasks neither list nor dictionary.
    """
    if not isinstance(name, (str, bytes)):
        raise TypeError(f"Job name {name!r} must be bytes or unicode")
    if not isinstance(tasks, (list, tuple, Mapping)):
        raise TypeError(
            f"The tasks for job {name!r} must be a list or a dictionary from integers to strings."
        )
    found = dict(tasks) if isinstance(tasks, Mapping) else dict(enumerate(tasks))
    for number, address in found.items():
        if not isinstance(number, int):
            raise TypeError(f"Task number {number!r} of job {name!r} must be an integer")
        if not isinstance(address, (str, bytes)):
            raise TypeError(f"Task address {address!r} must be bytes or unicode")
    return {n: a.decode() if isinstance(a, bytes) else a for n, a in found.items()}
