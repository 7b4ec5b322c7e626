#!/usr/bin/env python3
"""warpfold's own Python client, the way its peers' clients are measured. The server is given."""

import pathlib
import sys

import load

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client" / "python"))

NEEDS = ("grpc", "google.protobuf", "numpy")


def serve(_):
    raise NotImplementedError("warpfold-server serves")


def connect(target, size):
    import numpy
    import warpfold

    client = warpfold.connect(target)
    values = numpy.frombuffer(load.payload(size), dtype=numpy.float32)
    return lambda: float(client.sum(values))


if __name__ == "__main__":
    load.main(serve, connect, NEEDS)
