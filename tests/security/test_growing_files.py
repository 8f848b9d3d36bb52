"""S5 in Python: twice the file is twice the work, for every reader and importer."""

from __future__ import annotations

from pathlib import Path

import pytest
from growing_files import Family, families, tf_asserts
from work_counter import operations

from graphio import Session
from graphio.support import errors

SIZE = 100
AT_MOST = 2.2
FAMILIES = dict(families())


def test_there_are_files_of_more_than_thirty_kinds() -> None:
    assert len(FAMILIES) > 30


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_twice_the_file_is_twice_the_work(family: Family, tmp_path: Path) -> None:
    def work(size: int) -> int:
        folder = tmp_path / str(size)
        folder.mkdir()
        return operations(family(folder, size))

    work(8)  # imports and caches of the first use do not count
    assert work(2 * SIZE) <= AT_MOST * work(SIZE)


def test_a_group_of_many_checks_still_waits_for_each(tmp_path: Path) -> None:
    found = tf_asserts(tmp_path, 40)()
    x, y, test = (found.values[name] for name in ("x:0", "y:0", "test:0"))
    with Session(graph=y.graph) as session:
        assert session.run(y, {x: [1.0], test: True}) == -1.0
        with pytest.raises(errors.InvalidArgumentError, match="assert"):
            session.run(y, {x: [1.0], test: False})
