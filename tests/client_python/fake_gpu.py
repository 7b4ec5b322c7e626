"""A GPU of this process's imagination: the driver's calls, and arrays in its memory."""

import itertools

import numpy as np

PAGE = 1 << 21
PRIMARY = 0xC0  # the context that the CUDA runtime makes
ERROR = 201


class FakeGpu:
    """Stands in for libcuda, and for a library that allocates."""

    def __init__(self, ordinal=0):
        self.ordinal = ordinal  # as the server counts it
        self.exportable = True
        self.context = PRIMARY  # of an allocation; 0: of a pool
        self.contexts = []  # of the calling thread
        self.waits = []  # streams waited for; "all"
        self.copies = 0  # to the host
        self.fails = set()  # names of calls
        self._memory = {}  # base: (buffer id, bytes)
        self._places = itertools.count(PAGE, PAGE)
        self._ids = itertools.count(1)

    def malloc(self, size, base=None):
        base = next(self._places) if base is None else base
        self._memory[base] = (next(self._ids), np.zeros(size, np.uint8))
        return base

    def free(self, base):
        del self._memory[base]

    def opened(self, handle, ordinal):
        """What another process finds by a handle."""
        base = int.from_bytes(handle[:8], "little")
        known = ordinal == self.ordinal and base in self._memory
        return memoryview(self._memory[base][1]) if known else None

    def array(self, values, *, base=None, offset=0, **interface):
        """The values in device memory, as a library with the interface has them."""
        values = np.asarray(values)
        base = self.malloc(values.nbytes + offset) if base is None else base
        self._memory[base][1][offset : offset + values.nbytes] = values.reshape(-1).view(np.uint8)
        return FakeArray(values, base + offset, interface)

    def _bytes(self, pointer):
        for base, (buffer_id, memory) in self._memory.items():
            if base <= pointer.value < base + len(memory):
                return base, buffer_id, memory
        raise KeyError(pointer)

    def cuPointerGetAttribute(self, value, attribute, pointer):
        try:
            base, buffer_id, memory = self._bytes(pointer)
        except KeyError:
            return ERROR
        found = {1: self.context, 7: buffer_id, 9: 0, 10: self.exportable, 11: base}
        value._obj.value = {**found, 12: len(memory)}[attribute.value]
        return 0

    def cuIpcGetMemHandle(self, handle, base):
        assert self.contexts
        if "cuIpcGetMemHandle" in self.fails:
            return ERROR
        handle.raw = base.value.to_bytes(8, "little").ljust(64, b"\xee")
        return 0

    def cuCtxSynchronize(self):
        assert self.contexts
        self.waits.append("all")
        return 0

    def cuStreamSynchronize(self, stream):
        assert self.contexts
        self.waits.append(stream.value)
        return 0

    def cuMemcpyDtoH_v2(self, into, pointer, size):
        assert self.contexts
        base, _, memory = self._bytes(pointer)
        into[: size.value] = bytes(memory[pointer.value - base :][: size.value])
        self.copies += 1
        return 0

    def cuCtxPushCurrent_v2(self, context):
        self.contexts.append(context.value)
        return 0

    def cuCtxPopCurrent_v2(self, _):
        self.contexts.pop()
        return 0

    def cuDevicePrimaryCtxRetain(self, context, device):
        assert device.value == 0
        context._obj.value = PRIMARY
        return 0

    def cuDevicePrimaryCtxRelease_v2(self, _):
        return 0

    def cuGetErrorString(self, code, text):
        assert code.value == ERROR
        text._obj.value = b"invalid something"
        return 0


class FakeArray:
    """As PyTorch's: version 2 of the interface, unless it says otherwise."""

    def __init__(self, values, pointer, interface):
        self.values = values
        self.dtype = values.dtype
        self.__cuda_array_interface__ = {
            "shape": values.shape,
            "typestr": values.dtype.str,
            "data": (pointer, False),
            "strides": None,
            "version": 2,
            **interface,
        }
