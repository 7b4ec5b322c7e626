"""Requests of every kind that the command line client can make, good and bad, over and over."""

import itertools
import math
import struct
import subprocess
import threading
from array import array
from pathlib import Path

NUMPY_NAMES = {"f": "<f4", "d": "<f8", "i": "<i4", "q": "<i8"}
# Their product is (2^180 - 1) (2^53 + 1), a middle of two float64 numbers but for one in 2^180.
MIDDLE = [2**45 - 1, 2**45 + 1, 2**30 + 1, 4033, (2**60 - 2**30 + 1) // 4033, 3, (2**53 + 1) // 3]


def write_npy(path: Path, values: array, shape=None):
    """`values` as NumPy writes them; `shape` is one-dimensional unless given."""
    shape = shape or (len(values),)
    assert math.prod(shape) == len(values)
    header = f"{{'descr': '{NUMPY_NAMES[values.typecode]}', 'fortran_order': False, "
    header = (header + f"'shape': {tuple(shape)}, }}").encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    path.write_bytes(
        b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values.tobytes()
    )


def requests(folder: Path, stream_bytes: int):
    """Writes tensors into `folder`; the client's arguments that succeed, and those that must not.

    Tensors above `stream_bytes`, the server's --max-message-bytes, go by ReduceStream.
    """
    files = {}
    for name, values in (
        ("f32", array("f", range(10_000))),
        ("f64", array("d", range(5_000))),
        ("i32", array("i", range(20_000))),
        ("i64", array("q", range(2_500))),
        ("large", array("f", bytes(2 * stream_bytes))),
        ("empty", array("f")),
        ("overflow", array("q", [2**63 - 1, 1])),
        ("middle", array("d", MIDDLE)),
    ):
        files[name] = str(folder / f"{name}.npy")
        write_npy(Path(files[name]), values)
    good = [
        ["reduce", files[dtype], "--op", op]
        for dtype, op in (
            ("f32", "sum"),
            ("f32", "max"),
            ("f64", "mean"),
            ("f64", "sum"),
            ("i32", "min"),
            ("i32", "sum,min,max,mean"),
            ("i64", "sum"),
            ("large", "sum,mean"),
        )
    ]
    good.append(["describe", files["f32"]])
    bad = [
        ["reduce", files["f32"], "--op", "sum", "--axis", "7"],  # InvalidArgument
        ["reduce", files["empty"], "--op", "min"],  # InvalidArgument
        ["reduce", files["overflow"], "--op", "sum"],  # OutOfRange
        ["reduce", files["middle"], "--op", "prod"],  # DataLoss
    ]
    return good, bad


class Load:
    """Runs `workers` clients side by side until closed."""

    def __init__(self, cli, port: int, folder: Path, stream_bytes: int, workers: int = 2):
        self._cli, self._server = str(cli), f"--server=127.0.0.1:{port}"
        self.good, self.bad = requests(folder, stream_bytes)
        self._stop = threading.Event()
        self.unexpected = []
        mixed = self.good + self.bad
        # Each starts elsewhere in the list, so that the kinds mix.
        self._threads = [
            threading.Thread(target=self._run, args=(mixed[i:] + mixed[:i],))
            for i in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def once(self, arguments):
        return subprocess.run(
            [self._cli, self._server, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )

    def _run(self, order):
        for arguments in itertools.cycle(order):
            if self._stop.is_set():
                return
            done = self.once(arguments)
            if (done.returncode == 0) != (arguments in self.good):
                self.unexpected.append((arguments, done.returncode, done.stderr))

    def close(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()
