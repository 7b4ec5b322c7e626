#!/usr/bin/env python3
"""Memory on GPU 0 that another process may register with a server: a client of CUDA IPC.

  bench/service/cuda_export.py BYTES

Prints the handle (cudaIpcMemHandle_t) in hexadecimal and keeps the memory, zeros, until its input
ends. By the driver's own library: needs no toolkit.
"""

import ctypes
import sys


def main():
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        error = getattr(cuda, name)(*arguments)
        if error != 0:
            sys.exit(f"{name}: CUDA error {error}")

    size = int(sys.argv[1])
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    handle = ctypes.create_string_buffer(64)
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(size))
    call("cuMemsetD8_v2", memory, ctypes.c_ubyte(0), ctypes.c_size_t(size))
    call("cuCtxSynchronize")
    call("cuIpcGetMemHandle", handle, memory)
    print(handle.raw.hex(), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
