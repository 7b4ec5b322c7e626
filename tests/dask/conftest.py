"""A cluster of two local workers, and two servers."""

import contextlib
import re
import urllib.request

import pytest
from distributed import Client, LocalCluster
from running_server import server_process, serving

import warpfold


class Server:
    def __init__(self, port, metrics_port, process=None):
        self.process = process
        self.target = f"127.0.0.1:{port}"
        self._metrics_url = f"http://127.0.0.1:{metrics_port}/metrics"

    def reductions(self):
        """How many tensors it has reduced."""
        with urllib.request.urlopen(self._metrics_url) as page:
            text = page.read().decode()
        pattern = r'^grpc_server_handled_total\{.*grpc_method="Reduce(?:Stream)?".*\} (\S+)$'
        return sum(float(n) for n in re.findall(pattern, text, re.MULTILINE))


@pytest.fixture(scope="session")
def servers():
    with serving() as one, serving() as other:
        yield [Server(*one), Server(*other)]


@pytest.fixture
def two_servers():
    """Servers of the test's own, for it to end."""
    quiet = "--log-level=warning"
    with server_process(quiet) as (one, *ports), server_process(quiet) as (other, *other_ports):
        yield [Server(*ports, one), Server(*other_ports, other)]


@pytest.fixture(scope="session")
def targets(servers):
    return [server.target for server in servers]


@pytest.fixture(scope="session")
def whole(targets):
    """What one server answers to whole arrays."""
    with warpfold.connect(targets[0]) as client:
        yield client


@pytest.fixture(scope="session")
def cluster():
    with contextlib.ExitStack() as stack:
        made = LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        )
        stack.enter_context(made)
        yield stack.enter_context(Client(made))
