"""Workers are found or not, watched, and left as they were."""

import contextlib
import socket
import sys

import pytest

import committee
from committee.shell import dask_client as module
from committee.shell.dask_client import watched, workers
from committee.shell.messages import USAGE, Messages, ShellError
from committee.shell.tables import input_files
from tests.shell.conftest import QUIET

pytest.importorskip("distributed")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "foo://x:1", ""])
def test_a_scheduler_that_is_not_there(address, monkeypatch):
    monkeypatch.setattr(module, "SCHEDULER_TIMEOUT", 0.2)
    with (
        pytest.raises(ShellError, match="No Dask scheduler answers at") as caught,
        workers(address, QUIET),
    ):
        pytest.fail("there is nobody")
    assert caught.value.status == 1


def test_somebody_else_may_listen_there(monkeypatch):
    monkeypatch.setattr(module, "SCHEDULER_TIMEOUT", 0.2)
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
        pytest.raises(ShellError, match=r"pip install pandas pyarrow 'dask"),
        workers(None, QUIET),
    ):
        pytest.fail("there is no Dask")


def test_jobs_are_for_memory():
    with pytest.raises(ShellError, match="--jobs 4 is for a table in memory") as caught:
        input_files("rows/*.csv", None, 4)
    assert caught.value.status == USAGE


@pytest.mark.slow
def test_a_scheduler_is_left_as_it_was(two_workers):
    with workers(two_workers.scheduler.address, QUIET) as client:
        assert client.submit(pow, 2, 3).result() == 8
    assert client.status == "closed"
    assert two_workers.submit(pow, 2, 5).result() == 32


def test_work_is_watched_on_standard_error(two_workers, capsys):
    with watched(two_workers, "squaring", Messages()):
        two_workers.gather(two_workers.map(abs, range(3)))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "squaring" in printed.err
    assert "Dask tasks" in printed.err
    with watched(two_workers, "squaring", QUIET):
        pass
    assert capsys.readouterr().err == ""


def test_a_scheduler_without_workers_is_not_waited_for_without_end(capsys, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(module, "WORKERS_TIMEOUT", 0.2)
    options = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        LocalCluster(n_workers=0, processes=False, **options) as empty,
        pytest.raises(ShellError, match=r"no workers: start some with 'dask worker "),
        workers(empty.scheduler_address, Messages()),
    ):
        pytest.fail("there is nobody to work")
    assert "has no workers yet" in capsys.readouterr().err


def test_workers_with_another_version_are_refused(two_workers, monkeypatch):
    here = committee.__version__
    monkeypatch.setattr(committee, "__version__", "99.0")
    said = rf"worker at tcp://.* has committee {here}: install committee 99.0 there"
    with (
        pytest.raises(ShellError, match=said),
        workers(two_workers.scheduler.address, QUIET),
    ):
        pytest.fail("they would not understand each other")


@pytest.mark.parametrize("who", ["scheduler", "worker at tcp://10.0.0.2:1"])
def test_who_has_no_committee_is_named(who):
    lacks = ModuleNotFoundError("No module named 'committee'")

    class Client:
        def run_on_scheduler(self, function, *args):
            if who == "scheduler":
                raise lacks
            return function(*args)

        def run(self, function, *args, on_error):
            return {"tcp://10.0.0.1:1": function(*args), "tcp://10.0.0.2:1": lacks}

    with pytest.raises(ShellError, match=rf"The Dask {who} has no committee .*No mod"):
        module._refuse_other_versions(Client())


@pytest.mark.slow
def test_the_port_of_a_dashboard_may_be_taken(recwarn):
    with socket.socket() as usual:
        usual.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # taken already: as good
            usual.bind(("127.0.0.1", 8787))
            usual.listen()
        with module._local_cluster() as cluster:
            assert cluster.scheduler.http_server.port != 8787
    assert not recwarn.list


def test_workers_that_die_of_a_task_are_one_sentence():
    from distributed import KilledWorker

    with (
        pytest.raises(ShellError, match="workers died while working on one part"),
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
