"""Who sums for exact_sums.py: what Python can call, and programs that read arrays from a file."""

import collections
import contextlib
import importlib
import importlib.metadata
import json
import math
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE), str(HERE.parent / "kernels"), str(HERE.parent / "service")]

import numpy as np

import in_process
import load
import native
from servers import Server

MIB = 1 << 20
SLOW_BYTES_MAX = 16 * MIB  # of peers that take seconds for more, from a list of Python's floats
CUDA_KERNELS = "warpfold, CUDA kernels"
REFUSALS = (OverflowError, ValueError)  # of math.fsum
ROTATED_BYTES, ROTATED_MOST, WARM_UPS, REPEATS = 256 * MIB, 64, 2, 15  # as in timing.h


class Peer:
    """`prepare(values, held)` gives a function that returns the sum of `values`, time and again;
    what it needs meanwhile is left on `held`, an ExitStack."""

    def __init__(self, name, version, prepare, most=1 << 62):
        self.name, self.version, self.most = name, version, most
        self._prepare = prepare

    def answer(self, values):
        """The sum in the dtype of `values`, or the name of the exception that came instead."""
        with contextlib.ExitStack() as held, np.errstate(all="ignore"):
            try:
                return values.dtype.type(self._prepare(values, held)())
            except REFUSALS as refusal:
                return type(refusal).__name__

    def timed(self, values, held, seconds):
        """A function that measures the seconds of one sum."""
        call = self._prepare(values, held)
        return lambda: in_process.median_seconds(call, seconds)


class GpuPeer(Peer):
    """`start(tensor)` gives a function that enqueues the sum of a tensor of that shape on torch's
    current stream, and returns the tensor that gets it; and one that ends what it has begun.
    Timed as timing.h does: a graph of sums whose inputs are rotated past the L2."""

    def __init__(self, name, version, torch, start):
        def prepare(values, _):
            there = torch.from_numpy(values).cuda()
            enqueue, settle = start(there)

            def call():
                result = enqueue(there)
                settle(there)
                return result.item()
            return call
        super().__init__(name, version, prepare)
        self._torch, self._start = torch, start

    def timed(self, values, held, seconds):
        cuda, there = self._torch.cuda, self._torch.from_numpy(values).cuda()
        inputs = [there.clone() for _ in
                  range(max(1, min(ROTATED_MOST, ROTATED_BYTES // values.nbytes)))]
        launches = max(4, min(256, (8 << 30) // values.nbytes))
        enqueue, _ = self._start(there)
        enqueue(there)
        cuda.synchronize()
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            for i in range(launches):
                enqueue(inputs[i % len(inputs)])

        def measure():
            taken = []
            for _ in range(WARM_UPS + REPEATS):
                begin, end = (cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                graph.replay()
                end.record()
                end.synchronize()
                taken.append(begin.elapsed_time(end) * 1e-3 / launches)
            return statistics.median(taken[WARM_UPS:])
        return measure


def with_fsum(values, _):
    elements = values.tolist()
    return lambda: math.fsum(elements)


def with_numpy(values, _):
    return lambda: np.sum(values)


def with_xsum(xsum):
    def prepare(values, _):
        def call():
            accumulator = xsum.xsum_large()
            accumulator.add(values)  # of float32, a copy in float64
            return accumulator.round()
        return call
    return prepare


def with_bitrep(bitrep):
    """Its fastest sums: of float64 a list at a time, of float32 an element at a time."""
    def prepare(values, _):
        elements = values.tolist()

        def sum_f64():
            accumulator = bitrep.FastSumF64()
            accumulator.extend(elements)
            return accumulator.finish().value()

        def sum_f32():
            accumulator = bitrep.SumF32()
            collections.deque(map(accumulator.add, elements), maxlen=0)
            return accumulator.value()
        return sum_f64 if values.dtype == np.float64 else sum_f32
    return prepare


def with_torch(torch):
    torch.set_num_threads(1)

    def prepare(values, _):
        there = torch.from_numpy(values)
        return lambda: torch.sum(there).item()
    return prepare


def with_kernels(kernels):
    def prepare(values, _):
        dtype = "f64" if values.dtype == np.float64 else "f32"
        reduction = native.Reduction(dtype, "sum", 1, values.size, 1)
        result = np.zeros(1, np.float64)

        def call():
            kernels.reduce(reduction, values.ctypes.data, result.ctypes.data)
            return result.view(values.dtype)[0]
        return call
    return prepare


def with_cuda_kernels(torch, cuda):
    def start(tensor):
        dtype = "f64" if tensor.dtype == torch.float64 else "f32"
        reduction = native.Reduction(dtype, "sum", 1, tensor.numel(), 1)
        scratch = torch.zeros(cuda.scratch_bytes(reduction), dtype=torch.uint8, device="cuda")
        result = torch.zeros(1, dtype=tensor.dtype, device="cuda")

        def arguments_of(one):
            return (reduction, one.data_ptr(), result.data_ptr(), scratch.data_ptr(),
                    torch.cuda.current_stream().cuda_stream)

        def enqueue(one):
            cuda.reduce(*arguments_of(one))
            return result
        return enqueue, lambda one: cuda.settle(*arguments_of(one))
    return start


def with_client(client):
    """Of a tensor that is on the server before the sums are timed."""
    def prepare(values, held):
        return held.enter_context(client.put(values)).sum
    return prepare


def imported(name, missing):
    """The module and its version, or None and a reason left in `missing`."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing[name] = f"this Python cannot import it: {error}"
        return None


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


def local_peers(build, missing):
    """What this process can call; why the others cannot be called is left in `missing`."""
    peers = [Peer("math.fsum", "Python " + sys.version.split()[0], with_fsum, SLOW_BYTES_MAX)]
    if xsum := imported("xsum", missing):
        peers.append(Peer("xsum", version_of("xsum"), with_xsum(xsum)))
    if bitrep := imported("bitrep", missing):
        peers.append(Peer("bitrep", version_of("bitrep"), with_bitrep(bitrep), SLOW_BYTES_MAX))
    peers.append(Peer("numpy.sum", np.__version__, with_numpy))
    torch = imported("torch", missing)
    if torch:
        peers.append(Peer("torch, CPU", torch.__version__, with_torch(torch)))
    else:
        missing["torch, CPU"] = missing.pop("torch")
    if torch and torch.cuda.is_available():
        peers += gpu_peers(torch, build, missing)
    else:
        why = "torch finds no GPU" if torch else missing["torch, CPU"]
        missing |= {"torch, CUDA": why, CUDA_KERNELS: why}
    kernels, _ = in_process.load_kernels(build)
    if kernels is None:
        missing["warpfold, CPU kernels"] = "no libwarpfold_bench_cpu.so"
    else:
        peers.append(Peer("warpfold, CPU kernels", kernels.simd, with_kernels(kernels)))
    return peers


def gpu_peers(torch, build, missing):
    peers = [GpuPeer("torch, CUDA", torch.__version__, torch,
                     lambda _: (torch.sum, lambda _: None))]
    try:
        cuda = native.Cuda(build)
    except SystemExit:
        missing[CUDA_KERNELS] = "no libwarpfold_bench_cuda.so"
        return peers
    name = torch.cuda.get_device_name()
    return [*peers, GpuPeer(CUDA_KERNELS, name, torch, with_cuda_kernels(torch, cuda))]


def server_address(arguments, held):
    """Of the server that is there, or of one that is started; None where neither is named."""
    if not arguments.warpfold_server:
        return arguments.server
    command = [str(arguments.warpfold_server), "--listen-address=127.0.0.1:0",
               "--metrics-address=127.0.0.1:0", f"--backend={arguments.backend}",
               "--max-resident-bytes=2GiB", "--max-resident-tensor-bytes=1GiB"]
    folder = pathlib.Path(held.enter_context(tempfile.TemporaryDirectory()))
    return held.enter_context(Server("warpfold", command, folder)).address


def served_peer(address, held):
    """warpfold by its Python client."""
    warpfold = load.import_warpfold()
    client = held.enter_context(warpfold.connect(address))
    answer = client.reduce(np.ones(1, np.float32), ["sum"])
    name = "warpfold, CPU server" if answer.device.startswith("cpu") else "warpfold, CUDA server"
    return Peer(name, f"numerics version {answer.numerics_version}", with_client(client))


def write_records(file, records):
    """(elements, bytes to time or 0) of each, as exact_sums.cu reads them."""
    for values, timed_bytes in records:
        file.write(struct.pack("=IIQQ", values.itemsize, 0, values.size, timed_bytes))
        file.write(values.tobytes())


def run_program(path, records):
    """(what it says of itself, its lines about the records) of a program like exact_sums.cu."""
    with tempfile.NamedTemporaryFile() as file:
        write_records(file, records)
        file.flush()
        done = subprocess.run([os.path.abspath(path), file.name], capture_output=True, text=True,
                              check=False)
    if done.returncode != 0:
        sys.exit(f"{path}: exit {done.returncode}\n{done.stderr}")
    head, *lines = map(json.loads, done.stdout.splitlines())
    return head, lines
