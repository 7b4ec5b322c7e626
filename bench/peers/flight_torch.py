#!/usr/bin/env python3
"""Arrow Flight and torch.sum: a record batch by DoPut, the sum back as the put's metadata."""

import load

NEEDS = ("pyarrow.flight", "torch")


def serve(device):
    import pyarrow
    import pyarrow.flight
    import torch

    class SumServer(pyarrow.flight.FlightServerBase):
        def do_put(self, context, descriptor, reader, writer):
            total = torch.zeros((), dtype=torch.float64, device=device)
            for chunk in reader:
                column = chunk.data.column(0)
                values = torch.frombuffer(memoryview(column.buffers()[1]), dtype=torch.float32,
                                          count=len(column))
                total += values.to(device).sum(dtype=torch.float64)
            writer.write(pyarrow.py_buffer(str(total.item()).encode()))

    server = SumServer("grpc://127.0.0.1:0")
    return server.port, server.serve


def connect(target, size, _):
    import pyarrow
    import pyarrow.flight

    client = pyarrow.flight.connect(f"grpc://{target}")
    data = pyarrow.py_buffer(load.payload(size))
    column = pyarrow.Array.from_buffers(pyarrow.float32(), size // load.ELEMENT_BYTES, [None, data])
    batch = pyarrow.record_batch([column], names=["x"])
    descriptor = pyarrow.flight.FlightDescriptor.for_path("sum")

    def send():
        writer, reader = client.do_put(descriptor, batch.schema)
        with writer:
            writer.write_batch(batch)
            writer.done_writing()
            return float(reader.read().to_pybytes())

    return send


if __name__ == "__main__":
    load.main(serve, connect, NEEDS)
