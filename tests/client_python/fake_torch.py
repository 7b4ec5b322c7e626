"""Tensors as PyTorch's to whoever reads them: dtypes that say "torch.float32", gradients, DLPack.

The exports are NumPy's, made out to be of another dtype or device. `exports` are the arrays that
they keep.
"""

import weakref

import numpy as np

from warpfold._dlpack import _DLTensor, _pointer_of

CPU, CUDA = 1, 2
CODES = {"i": 0, "u": 1, "f": 2, "opaque": 3, "bfloat16": 4, "c": 5, "b": 6}
CODES |= {"float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12}

exports = []  # weak references; `living` counts those that are still kept


def living():
    exports[:] = [kept for kept in exports if kept() is not None]
    return len(exports)


class DType:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


class Tensor:
    """Of NumPy's values; those of bfloat16 and float8 are their bits."""

    layout = "torch.strided"

    def __init__(self, values, dtype=None, *, requires_grad=False, pointer=None):
        self.values = np.asarray(values)
        self.dtype = DType(dtype or self.values.dtype.name)
        self.requires_grad = requires_grad
        self.pointer = pointer  # on a GPU
        self.streams = []  # for which exports were asked

    @property
    def shape(self):
        return self.values.shape

    @property
    def ndim(self):
        return self.values.ndim

    def detach(self):
        detached = type(self)(
            self.values, self.dtype.name, requires_grad=False, pointer=self.pointer
        )
        detached.streams = self.streams
        return detached

    def __array__(self, *_, **__):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def __dlpack_device__(self):
        return (CPU if self.pointer is None else CUDA, 0)

    def __dlpack__(self, *, stream=None):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        self.streams.append(stream)
        values, name = self.values, self.dtype.name
        raw = values.view(f"u{values.dtype.itemsize}")
        exports.append(weakref.ref(raw))
        capsule = raw.__dlpack__()
        tensor = _DLTensor.from_address(_pointer_of(capsule, b"dltensor"))
        tensor.code = CODES[name] if name in CODES else CODES[values.dtype.kind]
        if self.pointer is not None:
            tensor.data, tensor.device_type = self.pointer, CUDA
        return capsule


uint8 = DType("uint8")


class OldTensor(Tensor):
    """As before PyTorch 2.10."""

    def view(self, dtype):
        assert dtype is uint8 and not self.requires_grad
        viewed = Tensor(self.values.view(np.uint8), pointer=self.pointer)
        viewed.streams = self.streams
        return viewed

    def __dlpack__(self, **_):
        raise BufferError("float8 types are not supported by dlpack")


class Parameter(Tensor):
    def __init__(self, values, dtype=None, *, requires_grad=True, pointer=None):
        super().__init__(values, dtype, requires_grad=requires_grad, pointer=pointer)
