"""The kernels for Python benches: the C functions of native_cpu.cc and native_cuda.cu by ctypes.

Import torch first where it is used: the process then has one CUDA runtime, torch's.
"""

import ctypes
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Beside the bundle's programs, or in the tree's build.
FOLDERS = (HERE.parents[1] / "bin", HERE.parents[1] / "build" / "release" / "bench" / "kernels")


class Reduction(ctypes.Structure):
    """Elements [outer, count, inner] of one array, folded along `count`."""

    _fields_ = [("dtype", ctypes.c_char_p), ("ops", ctypes.c_char_p), ("outer", ctypes.c_int64),
                ("count", ctypes.c_int64), ("inner", ctypes.c_int64)]

    def __init__(self, dtype, ops, outer, count, inner):
        super().__init__(dtype.encode(), ops.encode(), outer, count, inner)


def load(name, folder=None):
    """The library `name` of `folder`, or of wherever it is. Ends the process where it is not."""
    folders = (pathlib.Path(folder),) if folder else FOLDERS
    for place in folders:
        path = place / f"lib{name}.so"
        if path.exists():
            return ctypes.CDLL(str(path))
    sys.exit(f"lib{name}.so is in none of {', '.join(map(str, folders))}; 'make benches' builds it")


class Cpu:
    """Each call blocks. `data` and `results` are addresses; results are 8 bytes apart."""

    def __init__(self, folder=None):
        self._library = load("warpfold_bench_cpu", folder)
        self._reduce = self._library.warpfold_cpu_reduce
        self._reduce.restype = ctypes.c_double
        self._reduce.argtypes = [ctypes.POINTER(Reduction), ctypes.c_void_p, ctypes.c_void_p,
                                 ctypes.c_int, ctypes.c_int64]
        self._read = self._library.warpfold_cpu_read
        self._read.restype = ctypes.c_double
        self._read.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_int64]
        self._plain_sum = self._library.warpfold_cpu_plain_sum
        self._plain_sum.restype = ctypes.c_double
        self._plain_sum.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int,
                                    ctypes.c_int64]
        self._library.warpfold_cpu_simd.restype = ctypes.c_char_p
        self.simd = self._library.warpfold_cpu_simd().decode()

    def reduce(self, reduction, data, results, threads=1, repeats=1):
        """Mean seconds of one of `repeats` reductions."""
        return self._reduce(reduction, data, results, threads, repeats)

    def read(self, data, size, threads=1, repeats=1):
        """Mean seconds of one of `repeats` plain reads."""
        return self._read(data, size, threads, repeats)

    def plain_sum(self, dtype, data, count, threads=1, repeats=1):
        """Mean seconds of one of `repeats` sums in float64, of f32, f64 or bf16."""
        return self._plain_sum(dtype.encode(), data, count, threads, repeats)


class Cuda:
    """Launches on the address of a stream; pointers are of device memory. Ends the process where
    a launch fails."""

    def __init__(self, folder=None):
        library = load("warpfold_bench_cuda", folder)
        self._scratch = library.warpfold_cuda_scratch_bytes
        self._scratch.restype = ctypes.c_int64
        self._scratch.argtypes = [ctypes.POINTER(Reduction)]
        self._reduce = library.warpfold_cuda_reduce
        self._reduce.argtypes = [ctypes.POINTER(Reduction)] + [ctypes.c_void_p] * 4
        self._recompute = library.warpfold_cuda_recompute
        self._recompute.restype = ctypes.c_int64
        self._recompute.argtypes = self._reduce.argtypes
        self._cub_scratch = library.warpfold_cub_scratch_bytes
        self._cub_scratch.restype = ctypes.c_int64
        self._cub_scratch.argtypes = [ctypes.c_int64]
        self._cub_sum = library.warpfold_cub_sum
        self._cub_sum.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p,
                                  ctypes.c_int64, ctypes.c_void_p]

    def scratch_bytes(self, reduction):
        return self._scratch(reduction)

    def reduce(self, reduction, data, results, scratch, stream):
        """`scratch`: zeros before the first call. Sums may be left undecided."""
        check(self._reduce(reduction, data, results, scratch, stream))

    def recompute(self, reduction, data, results, scratch, stream):
        """After one reduce(): sums again what it left undecided, and waits; how many outputs."""
        return self._recompute(reduction, data, results, scratch, stream)

    def cub_scratch_bytes(self, count):
        return self._cub_scratch(count)

    def cub_sum(self, data, count, result, scratch, scratch_bytes, stream):
        check(self._cub_sum(data, count, result, scratch, scratch_bytes, stream))


def check(error):
    if error != 0:
        sys.exit(f"bench: a launch failed with cudaError {error}")
