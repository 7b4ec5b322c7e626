#!/usr/bin/env python3
"""tritonclient[grpc], as PyPI has it, against warpfold. The server is given.

--way shared: the array is copied into a registered segment for each request, as by warpfold's own
client.
"""

import load

NEEDS = ("tritonclient.grpc", "numpy")


def connect(target, size, way):
    import atexit

    import numpy
    import tritonclient.grpc as triton
    from tritonclient.utils import shared_memory

    client = triton.InferenceServerClient(target)
    values = numpy.frombuffer(load.payload(size), dtype=numpy.float32)

    def sum_of(tensor):
        return float(client.infer("sum", [tensor]).as_numpy("SUM").item())

    def send():
        tensor = triton.InferInput("INPUT", values.shape, "FP32")
        return sum_of(tensor.set_data_from_numpy(values))

    if way != "shared":
        return send
    segment = shared_memory.create_shared_memory_region("bench", "/warpfold-bench", size)
    client.register_system_shared_memory("bench", "/warpfold-bench", size)

    def end():
        client.unregister_system_shared_memory("bench")
        shared_memory.destroy_shared_memory_region(segment)

    atexit.register(end)

    def share():
        shared_memory.set_shared_memory_region(segment, [values])
        tensor = triton.InferInput("INPUT", values.shape, "FP32")
        tensor.set_shared_memory("bench", size)
        return sum_of(tensor)

    return share


if __name__ == "__main__":
    load.main(load.served_already, connect, NEEDS)
