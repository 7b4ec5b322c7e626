#!/usr/bin/env python3
"""warpfold's own Python client, the way its peers' clients are measured. The server is given.

--way: sent (the default), "N connections", shared (through shared memory); of a tensor on a GPU
"gpu", "gpu, held" (by Client.share) and "gpu, copied" (to the host, by torch, and sent).
"""

import load

NEEDS = ("grpc", "google.protobuf", "numpy")


def connect(target, size, way):
    import numpy

    warpfold = load.import_warpfold()
    options = {} if way == "shared" else {"shared_memory_mode": None}
    if "connection" in way:
        options["connections"] = int(way.split()[0])
    client = warpfold.connect(target, **options)
    values = numpy.frombuffer(load.payload(size), dtype=numpy.float32)
    if not way.startswith("gpu"):
        return lambda: float(client.sum(values))

    import torch

    tensor = torch.from_numpy(values.copy()).cuda()
    if way == "gpu, copied":
        return lambda: float(client.sum(tensor.cpu().numpy()))
    import warpfold._cuda_memory

    warpfold._cuda_memory._LEAST_BYTES = 0  # what is measured is where it should be
    held = client.share(tensor) if way == "gpu, held" else tensor
    return lambda: float(client.sum(held))


if __name__ == "__main__":
    load.main(load.served_already, connect, NEEDS)
