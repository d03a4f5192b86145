"""Two worker processes, of which some die: the same release to the last bit, or one sentence and nothing released."""

import json
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from routes import with_options
from streams import NAMES, needs, store
from typer.testing import CliRunner

import dimfree
from dimfree import cli
from dimfree.data import read, scheduler
from dimfree.data.records import as_records
from dimfree.data.scheduler import connect_scheduler
from dimfree.errors import ClusterError, InvalidDataError, InvalidFileError, InvalidParameterError
from dimfree.kernel.rows.cosine import Cosine
from dimfree.kernel.rows.space import Space
from dimfree.noise import SeededNoise
from dimfree.progress import report_to
from dimfree.shapes import IsotropicCovariance

dask, da, distributed = needs("dask"), needs("dask.array"), needs("distributed")

ROWS = 1500
KNOWN = {"covariance": np.array([1.0, 4.0, 0.25, 1.0]), "core_sample": 500}
SECRET = 123456.78125
OWN = dimfree.__version__


@pytest.fixture(scope="module")
def cluster():
    """However long a killed worker takes to come back on a busy machine, the cluster does not give it up."""
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"}):
        cluster = local_cluster(2)
        yield cluster
        with suppress(KeyError):  # while closing, Distributed may look up a killed worker that it has forgotten
            cluster.close()


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


def local_cluster(workers):
    """Dask gives a thread of its own ten seconds to begin: on a busy machine that is asked for again."""
    how = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "memory_limit": 0}
    try:
        return distributed.LocalCluster(n_workers=workers, **how)
    except AssertionError:
        return distributed.LocalCluster(n_workers=workers, **how)


def released(X, **options) -> dict:
    release = dimfree.release_mean(X, **with_options(epsilon=4.0, delta=1e-6, **options, noise=SeededNoise(5)))
    assert not release.refused
    return json.loads(release.to_json())


def pids(client) -> dict[str, int]:
    return client.run(os.getpid)


@pytest.mark.parametrize("options", [{}, KNOWN], ids=["auto", "known"])
def test_a_cluster_gives_the_release_of_the_table_in_memory(client, table, options):
    X = da.from_array(table, chunks=(200, 3)).persist()
    assert released(X, **options) == released(table, **options)


def test_workers_rotate_as_this_process_does(client, table):
    X = da.from_array(table, chunks=(200, 4)).persist()
    assert released(X, basis="dct") == released(table, basis="dct")


def test_a_worker_whose_transform_rounds_otherwise_is_one_sentence(client, table, capfd):
    X = da.full((ROWS, 4), SECRET, chunks=(100, 4))
    space = Space(as_records(X), IsotropicCovariance(1.0), Cosine(4))
    assert space.sum_over(_rows_seen, 1).tolist() == [ROWS]
    client.run(_round_otherwise, True)
    try:
        with pytest.raises(ClusterError, match="other last bits") as error:
            space.sum_over(_rows_seen, 1)
        assert "123456" not in _everything_said(client, capfd) + str(error.value)
    finally:
        client.run(_round_otherwise, False)
    assert space.sum_over(_rows_seen, 1).tolist() == [ROWS]


def _rows_seen(rows):
    return np.array([len(rows)])


def _round_otherwise(other):
    """From here on, or no longer, this worker is a machine with another SciPy."""
    from dimfree.kernel.rows import cosine

    cosine.__dict__.setdefault("_plain", cosine._transform)
    cosine._transform = (lambda batch: np.nextafter(cosine._plain(batch), 1)) if other else cosine._plain
    cosine._witness.cache_clear()


def test_what_a_cluster_keeps_is_held_as_long_as_the_records(client, table):
    records = as_records(da.from_array(table, chunks=(200, 4)).persist())  # nobody else holds the collection
    assert released(records, **KNOWN) == released(table, **KNOWN)


def test_a_worker_killed_in_mid_run_does_not_show(client, table, tmp_path):
    """Killed for sure while it works: the task on one partition kills its own process in the second pass."""
    flag, before = tmp_path / "visits", set(pids(client).values())
    X = da.from_array(table, chunks=(200, 4)).map_blocks(_killing_once, str(flag), dtype=float, meta=np.zeros((0, 0)))
    X.sum().compute()
    assert set(pids(client).values()) == before  # the first pass kills nobody
    assert released(X, **KNOWN) == released(table, **KNOWN)
    client.wait_for_workers(2, timeout=60)
    assert set(pids(client).values()) != before


def _killing_once(rows, flag, block_info=None):
    """Computes as ever, but for the fourth partition in the second pass: its worker is gone."""
    if block_info and block_info[None]["chunk-location"][0] == 3:
        visits = Path(flag)
        seen = len(visits.read_bytes()) if visits.exists() else 0
        visits.write_bytes(b"." * (seen + 1))
        if seen == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    return rows


def test_a_partition_that_kills_its_worker_once_too_often_is_lost(table):
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_cluster(1) as cluster,
        distributed.Client(cluster),
        pytest.raises(ClusterError, match="KilledWorker"),
    ):
        released(da.from_array(table, chunks=(1500, 4)).map_blocks(_killing, dtype=float, meta=np.zeros((0, 0))))


def _killing(rows):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_broken_partition_leaves_no_value_in_any_log(client, capfd):
    X = da.full((ROWS, 4), SECRET, chunks=(300, 4)).map_blocks(_narrow, dtype=float, meta=np.zeros((0, 0)))
    with pytest.raises(InvalidDataError, match="has changed") as error:
        released(X, **KNOWN)
    records = as_records(da.full((ROWS, 4), SECRET, chunks=(300, 4)))
    with pytest.raises(ClusterError, match="ZeroDivisionError") as other:
        list(records.map_blocks(_fails, 10, None, 1, all))
    assert "123456" not in _everything_said(client, capfd) + str(error.value) + str(other.value)
    raising = da.full((ROWS, 4), SECRET, chunks=(300, 4)).map_blocks(_raises, dtype=float, meta=np.zeros((0, 0)))
    with pytest.raises(ValueError, match="123456"):
        raising.compute()  # the partner: dask itself does quote it, and where we look we would have seen it
    assert "123456" in _everything_said(client, capfd)


@pytest.mark.parametrize("error", [ValueError, FileNotFoundError, TimeoutError, ModuleNotFoundError])
def test_a_graph_that_fails_is_not_a_loss_of_workers(client, error):
    X = da.full((ROWS, 4), SECRET, chunks=(300, 4)).map_blocks(_raises, error, dtype=float, meta=np.zeros((0, 0)))
    with pytest.raises(
        InvalidDataError, match=f"dask graph of the table failed with {error.__name__}.*Compute the table"
    ) as told:
        released(X, **KNOWN)
    assert "123456" not in str(told.value)
    assert "died" not in str(told.value)
    assert told.value.__suppress_context__


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("sys.modules['dimfree'] = None", "has no dimfree"),
        ("kept.__version__ = '0.0.9'", "has dimfree 0.0.9"),
        ("del kept.__version__", "does not load"),
    ],
)
def test_a_worker_with_another_dimfree_is_named_before_anything_is_charged(client, tmp_path, table, change, said):
    ledger = dimfree.PrivacyLedger(tmp_path / "study.db", "trial-7", epsilon=9, delta=1e-4)
    path, X = store(tmp_path / "t.npy", table), da.from_array(table, chunks=(200, 4))
    other = sorted(pids(client))[1]
    pretend(client, change, [other])
    expected = f"{said}.*this process has dimfree {OWN}: install"
    try:
        with pytest.raises(ClusterError, match=expected) as told:
            released(X, ledger=ledger, **KNOWN)
        assert other in str(told.value)
        with pytest.raises(ClusterError, match=expected):
            released(read.read_table(path, workers=2), ledger=ledger, **KNOWN)
        with pytest.raises(ClusterError, match=expected), connect_scheduler(client.scheduler.address):
            pass
        command = ["mean", str(path), "--epsilon", "4", "--delta", "1e-6", "--scheduler", client.scheduler.address]
        result = CliRunner().invoke(cli.app, [*command, "--ledger", str(ledger.path), "--dataset", "trial-7"])
        assert (result.exit_code, said in result.stderr) == (2, True)
        assert ledger.account().debits == 0
    finally:
        pretend(client, "", [other])
    assert released(X, ledger=ledger, **KNOWN) == released(table, **KNOWN)


def pretend(client, change, workers=None):
    """From here on these workers have another dimfree, or none; "" brings their own back. Text needs no module."""
    text = f"""
import sys
import dimfree as kept
kept = sys.__dict__.setdefault("kept_dimfree", kept)
{change}
"""
    if not change:
        text = f"import sys\nsys.modules['dimfree'] = sys.kept_dimfree\nsys.kept_dimfree.__version__ = {OWN!r}"
    client.run(exec, text, workers=workers)


def test_a_worker_that_joins_later_is_asked_as_well(client, table):
    records = as_records(da.from_array(table, chunks=(200, 4)))
    assert scheduler.compute_tasks([dask.delayed(len)("ab")], [1]) == [2]
    scheduler._checked[client].clear()  # as if they were new
    pretend(client, "kept.__version__ = '0.0.9'")
    try:
        with pytest.raises(ClusterError, match=r"has dimfree 0\.0\.9"):
            released(records, **KNOWN)
    finally:
        pretend(client, "")


def test_nobody_is_warned_of_how_much_is_sent(client, tmp_path, table, recwarn):
    """Dask tells the size of a large graph; ours is that of the masks, a bit for every row."""
    apart = read.read_table(store(tmp_path / "t.npy", table), workers=2)
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1kB"}):
        released(apart, **KNOWN)
        assert not [said for said in recwarn if "large graph" in str(said.message)]
        dask.compute(dask.delayed(len)(bytes(2000)))
    assert [said for said in recwarn if "large graph" in str(said.message)]  # the partner


def _narrow(rows, block_info=None):
    return rows[:, :3] if block_info and block_info[None]["chunk-location"][0] == 2 else rows


def _fails(rows, among):
    raise ZeroDivisionError(str(rows[0, 0]))


def _raises(rows, error=ValueError):
    raise error(f"cannot use {rows[0, 0]}")


def _everything_said(client, capfd) -> str:
    time.sleep(0.5)  # what workers print comes through pipes
    logs = [client.get_worker_logs(), client.get_scheduler_logs(), client.get_events()]
    return "".join([*map(str, logs), *capfd.readouterr()])


def test_an_interrupt_cancels_the_work(client, table):
    X = da.from_array(table, chunks=(10, 4)).map_blocks(_slowly, dtype=float, meta=np.zeros((0, 0)))

    def interrupt(*_):
        raise KeyboardInterrupt

    with report_to(interrupt), pytest.raises(KeyboardInterrupt):
        released(X, **KNOWN)
    until = time.monotonic() + 30
    while any(client.processing().values()) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(client.processing().values())


def _slowly(rows):
    time.sleep(0.1)
    return rows


@pytest.mark.parametrize("ending", [".npy", ".csv", ".parquet", ".zarr"])
def test_a_file_read_by_the_workers_gives_the_release_of_the_file(client, tmp_path, table, ending):
    path = store(tmp_path / f"t{ending}", table, rows=97)
    apart = read.read_table(path, workers=2)
    assert apart.streams
    assert released(apart, **KNOWN) == released(read.read_table(path), **KNOWN)
    os.utime(path)
    with pytest.raises(InvalidFileError, match="has changed"):
        released(apart, **KNOWN)


def test_a_file_that_workers_do_not_see(client, tmp_path, table):
    apart = read.read_table(store(tmp_path / "t.npy", table), workers=2)
    (tmp_path / "t.npy").unlink()
    with pytest.raises(InvalidFileError, match="under the same path"):
        released(apart, **KNOWN)


def test_the_command_line_takes_a_scheduler(cluster, tmp_path, table, monkeypatch):
    path, said = store(tmp_path / "t.parquet", table), []
    monkeypatch.setattr("dimfree.noise.SystemNoise", lambda: SeededNoise(5))
    for more in ([], ["--scheduler", cluster.scheduler_address]):
        budget = ["--epsilon", "4", "--delta", "1e-6"]
        result = CliRunner().invoke(cli.app, ["mean", str(path), *budget, *more])
        assert result.exit_code == 0, result.output
        said.append(result.stdout)
    assert said[0] == said[1]
    assert NAMES[0] in said[0]


def test_a_scheduler_that_is_not_there(tmp_path, table, monkeypatch):
    monkeypatch.setattr(scheduler, "PATIENCE", 3.0)
    address = f"tcp://127.0.0.1:{_closed_port()}"
    path, began = store(tmp_path / "t.npy", table), time.monotonic()
    command = ["mean", str(path), "--epsilon", "1", "--delta", "1e-6", "--out", str(tmp_path / "mean.csv")]
    result = CliRunner().invoke(cli.app, [*command, "--scheduler", address])
    assert (result.exit_code, address in result.output) == (2, True)
    assert "No scheduler answers" in " ".join(result.output.split())
    assert not (tmp_path / "mean.csv").exists()
    assert time.monotonic() - began < 60
    for wrong in ("nowhere", "http://127.0.0.1", ""):
        with pytest.raises(ClusterError, match="No scheduler answers"), connect_scheduler(wrong):
            pass


def _closed_port() -> int:
    with socket.socket() as waiting:
        waiting.bind(("127.0.0.1", 0))
        return int(waiting.getsockname()[1])


def test_options_that_need_one_machine(tmp_path):
    result = CliRunner().invoke(
        cli.app,
        ["mean", "t.csv", "--epsilon", "1", "--delta", "1e-6", "--privacy-unit", "who", "--scheduler", "tcp://x:1"],
    )
    assert result.exit_code == 2
    assert "--scheduler and --privacy-unit exclude each other" in " ".join(result.output.split())


def test_without_workers_nobody_waits_for_ever(table, monkeypatch):
    monkeypatch.setattr(scheduler, "PATIENCE", 3.0)
    monkeypatch.setattr(scheduler, "_CHECK", 0.2)
    with local_cluster(1) as cluster, distributed.Client(cluster) as client:
        X = da.from_array(table, chunks=(100, 4)).map_blocks(_slowly, dtype=float, meta=np.zeros((0, 0)))
        gone = threading.Timer(0.5, cluster.scale, [0])
        gone.start()
        began = time.monotonic()
        with pytest.raises(ClusterError, match="no workers"):
            released(X, **KNOWN)
        assert time.monotonic() - began < 60
        gone.join()
        with pytest.raises(ClusterError, match="no workers"), connect_scheduler(client.scheduler.address):
            pass


def test_a_scheduler_that_goes_away_in_mid_run(table, monkeypatch):
    monkeypatch.setattr(scheduler, "PATIENCE", 1.5)
    monkeypatch.setattr(scheduler, "ANSWER", 1.0)
    cluster = local_cluster(1)
    client = distributed.Client(cluster)
    X = da.from_array(table, chunks=(100, 4)).map_blocks(_slowly, dtype=float, meta=np.zeros((0, 0)))
    gone = threading.Timer(0.5, cluster.close)
    gone.start()
    began = time.monotonic()
    with pytest.raises(ClusterError):
        released(X, **KNOWN)
    assert time.monotonic() - began < 60
    gone.join()
    client.close()


def test_distributed_is_an_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InvalidParameterError, match=r"pip install 'dask\["), connect_scheduler("tcp://x:1"):
        pass


def test_a_scheduler_that_is_named_but_has_no_client_is_told(table, monkeypatch):
    monkeypatch.setattr("distributed.client._get_global_client", lambda: None)  # whatever other tests left open
    with dask.config.set(scheduler="distributed"), pytest.raises(ClusterError, match="without a Client"):
        dimfree.release_mean(da.from_array(table, chunks=(200, 4)), epsilon=4.0, delta=1e-6)
