#!/usr/bin/env python3
"""What grpcio itself takes for a call to warpfold: one message's bytes, made once, nothing read."""

import load

NEEDS = ("grpc", "google.protobuf", "numpy")


def connect(target, size, way):
    import grpc
    import numpy

    load.import_warpfold()
    from warpfold import _contract
    from warpfold._request import plan

    values = numpy.frombuffer(load.payload(size), dtype=numpy.float32)
    message = plan(values, ["sum"], None, False).unary_message()
    call = grpc.insecure_channel(target).unary_unary(_contract.REDUCE_METHOD)

    def send():
        call(message, timeout=60)
        return load.VALUE * values.size

    return send


if __name__ == "__main__":
    load.main(load.served_already, connect, NEEDS)
