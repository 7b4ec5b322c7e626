"""Servers on the CPU, shared memory for them, and what tells that something has happened there."""

import contextlib
import fcntl
import os
import tempfile
import urllib.request
from pathlib import Path

from asking import Client
from running_server import server_process

PREFIX = "/warpfold_refusals_"
# Small limits, so that small requests are above them.
SMALL = (
    "--max-tensor-bytes=64MiB",
    "--max-message-bytes=1MiB",
    "--max-result-bytes=64KiB",
    "--scratch-bytes=1MiB",
    "--max-resident-bytes=1MiB",
    "--max-resident-tensor-bytes=512KiB",
    "--max-shared-memory-bytes=1MiB",
    f"--shared-memory-prefix={PREFIX}",
)


class Server:
    def __init__(self, process, port, metrics_port):
        self.process = process
        self.port = port
        self._page = f"http://127.0.0.1:{metrics_port}/metrics"

    def client(self, **values):
        return Client(self.port, **values)

    def metric(self, name):
        with urllib.request.urlopen(self._page, timeout=60) as page:
            lines = page.read().decode().splitlines()
        (value,) = [line.rpartition(" ")[2] for line in lines if line.startswith(name + " ")]
        return float(value)

    def await_metric(self, name, wanted):
        while self.metric(name) != wanted:
            assert self.process.poll() is None, "the server has ended"


@contextlib.contextmanager
def server(*flags, **options):
    with server_process("--backend=cpu", "--log-level=warning", *flags, **options) as running:
        yield Server(*running)


@contextlib.contextmanager
def held_server(*flags):
    """One whose workers can be held (held_backend.cc): in workers_held() each waits at its task."""
    with (
        tempfile.NamedTemporaryFile() as lock,
        server(*flags, binary="WARPFOLD_HELD_SERVER", WARPFOLD_WORKERS_LOCK=lock.name) as running,
    ):

        @contextlib.contextmanager
        def workers_held():
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)

        running.workers_held = workers_held
        yield running


class Segment:
    """Shared memory whose name no other process's tests have."""

    _made = 0

    def __init__(self, data, mode=0o600):
        Segment._made += 1
        self.key = f"{PREFIX}{os.getpid()}_{Segment._made}"
        self.path = Path("/dev/shm") / self.key[1:]
        self.path.write_bytes(data)
        self.path.chmod(mode)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.path.unlink()


def register(client, name, segment, size_bytes, offset_bytes=0):
    """Registers the segment, which has to be taken, on the client's server."""
    text = f'name: "{name}" key: "{segment.key}" size_bytes: {size_bytes}'
    client.get("RegisterSharedMemory", f"{text} offset_bytes: {offset_bytes}")


def upload(client, dtype, shape, data=None, request=""):
    """The id of a new resident tensor; without `data` nothing of it is written."""
    text = f"tensor {{ dtype: {dtype} shape: {list(shape)} }} {request}"
    tensor_id = client.get("CreateTensor", text).tensor_id
    if data is not None:
        write(client, tensor_id, data)
    return tensor_id


def write(client, tensor_id, data, offset_bytes=0):
    client.get("WriteTensor", write_header(tensor_id, len(data), offset_bytes), chunk(data))


def write_header(tensor_id, size_bytes, offset_bytes=0):
    fields = f'tensor_id: "{tensor_id}" size_bytes: {size_bytes} offset_bytes: {offset_bytes}'
    return f"header {{ {fields} }}"


def chunk(data):
    return "chunk: '" + "".join(f"\\x{byte:02x}" for byte in data) + "'"


def await_tensor(client, tensor_id, **fields):
    """Until ListTensors says so of the tensor; of no fields: until it is gone."""
    while True:
        tensors = {t.tensor_id: t for t in client.get("ListTensors").tensors}
        if not fields and tensor_id not in tensors:
            return
        if fields and all(getattr(tensors[tensor_id], f) == v for f, v in fields.items()):
            return
