"""What pays.py compares the service with, in its own process: NumPy, torch, the CPU kernels.

A contestant is a function without arguments that computes the answer and returns its sum. Each is
made for one tensor and one question: "sum", or "describe", the nine statistics of cpu.DESCRIBE.
"""

import ctypes
import statistics
import time

import numpy as np

import cpu
import native

CALLS_MIN = 3
OPS = {"sum": "sum", "describe": cpu.DESCRIBE}


def numpy_statistics(x):
    """A pass for each, as a program with NumPy makes them; the variance makes two."""
    return (np.sum(x), np.mean(x), np.var(x), np.min(x), np.max(x),
            np.count_nonzero(np.isnan(x)), np.count_nonzero(np.isinf(x)),
            np.linalg.norm(x, 1), np.linalg.norm(x))


def with_numpy(x, question):
    return (lambda: np.sum(x)) if question == "sum" else (lambda: numpy_statistics(x)[0])


def with_kernels(kernels, x, question, threads):
    reduction = native.Reduction("f32", OPS[question], 1, x.size, 1)
    results = np.zeros(len(OPS[question].split(",")))  # 8 bytes each
    data, to = x.ctypes.data, results.ctypes.data

    def contestant():
        kernels.reduce(reduction, data, to, threads)
        return ctypes.c_float.from_address(to).value  # the first result, an f32
    return contestant


def torch_answer(torch, x, question):
    """On the host, with one wait for the GPU."""
    if question == "sum":
        return x.sum().item()
    norm = torch.linalg.vector_norm
    found = (x.sum(), x.mean(), x.var(correction=0), x.min(), x.max(), x.isnan().sum(),
             x.isinf().sum(), norm(x, 1), norm(x))
    return torch.stack([one.double() for one in found]).tolist()[0]


def with_torch(torch, x, question, where):
    """`where` the tensor lies before the call: "gpu", "host" or "pinned" host memory."""
    host = torch.from_numpy(x)
    if where == "gpu":
        there = host.cuda()
        return lambda: torch_answer(torch, there, question)
    if where == "pinned":
        host = host.pin_memory()
    return lambda: torch_answer(torch, host.to("cuda", non_blocking=True), question)


def median_seconds(contestant, seconds):
    """Of calls for so long, at least CALLS_MIN, after one that warms up."""
    contestant()
    taken, end = [], time.perf_counter() + seconds
    while len(taken) < CALLS_MIN or time.perf_counter() < end:
        begin = time.perf_counter()
        contestant()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def load_kernels(folder):
    """(the CPU kernels, "") or (None, why not)."""
    try:
        return native.Cpu(folder), ""
    except SystemExit as missing:
        return None, str(missing)


def load_torch():
    """(torch with a GPU, "") or (None, why not)."""
    try:
        import torch
    except ImportError:
        return None, "this Python has no torch"
    if not torch.cuda.is_available():
        return None, "torch finds no GPU"
    return torch, ""
