"""Workers are found or not, watched, and left as they were."""

import socket
import sys

import pytest

from committee.shell import cluster as module
from committee.shell.cluster import refuse_jobs, watched, workers
from committee.shell.errors import USAGE, ShellError
from committee.shell.output import Voice
from tests.shell.conftest import QUIET

pytest.importorskip("distributed")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "foo://x:1", ""])
def test_a_scheduler_that_is_not_there(address, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    with (
        pytest.raises(ShellError, match="No Dask scheduler answers at") as caught,
        workers(address, QUIET),
    ):
        pytest.fail("there is nobody")
    assert caught.value.status == 1


def test_somebody_else_may_listen_there(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as mute,
        pytest.raises(ShellError, match="No Dask scheduler answers at"),
        workers(f"127.0.0.1:{mute.getsockname()[1]}", QUIET),
    ):
        pytest.fail("that is no scheduler")


@pytest.mark.parametrize("name", ["dask.dataframe", "distributed"])
def test_without_dask_the_pip_line_is_given(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with (
        pytest.raises(ShellError, match=r"pip install 'committee\[dask\]'"),
        workers(None, QUIET),
    ):
        pytest.fail("there is no Dask")


def test_jobs_are_for_memory():
    with pytest.raises(ShellError, match="--jobs 4 is for a table in memory") as caught:
        refuse_jobs(4)
    assert caught.value.status == USAGE


def test_a_scheduler_is_left_as_it_was(two_workers):
    with workers(two_workers.scheduler.address, QUIET) as client:
        assert client.submit(pow, 2, 3).result() == 8
    assert client.status == "closed"
    assert two_workers.submit(pow, 2, 5).result() == 32


def test_work_is_watched_on_standard_error(two_workers, capsys):
    with watched(two_workers, "squaring", shown=True):
        two_workers.gather(two_workers.map(abs, range(3)))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "squaring" in printed.err
    assert "Dask tasks" in printed.err
    with watched(two_workers, "squaring", shown=False):
        pass
    assert capsys.readouterr().err == ""


def test_a_scheduler_without_workers_is_worth_a_note(capsys):
    from distributed import LocalCluster

    options = {"dashboard_address": None, "silence_logs": 50}
    with (
        LocalCluster(n_workers=0, processes=False, **options) as empty,
        workers(empty.scheduler_address, Voice()),
    ):
        pass
    assert "has no workers yet" in capsys.readouterr().err


def test_workers_that_die_of_a_task_are_one_sentence():
    from distributed import KilledWorker

    with (
        pytest.raises(ShellError, match="workers died over one part"),
        module._losses(None),
    ):
        raise KilledWorker("read", None, 3)


def test_a_lost_scheduler_is_one_sentence():
    from concurrent.futures import CancelledError

    with (
        pytest.raises(ShellError, match="at here went away"),
        module._losses("here"),
    ):
        raise RuntimeError("The sums are not complete.") from CancelledError()
    with pytest.raises(RuntimeError, match="else"), module._losses(None):
        raise RuntimeError("something else")
