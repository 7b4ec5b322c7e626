#!/usr/bin/env python3
"""The service that one writes in Python: grpcio and torch.sum.

At its best: raw bytes instead of a protobuf message, which would copy them once more on each side.
Tensors above 4 MiB travel in a stream of 1 MiB chunks, each added up when it is there.
"""

import concurrent.futures

import load

NEEDS = ("grpc", "torch")
STREAM_THRESHOLD_BYTES = 4 << 20
CHUNK_BYTES = 1 << 20
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def serve(device):
    import grpc
    import torch

    def sum_of(data):
        return torch.frombuffer(data, dtype=torch.float32).to(device).sum(dtype=torch.float64)

    def unary(data, _):
        return str(sum_of(data).item()).encode()

    def stream(chunks, _):
        total = torch.zeros((), dtype=torch.float64, device=device)
        for chunk in chunks:
            total += sum_of(chunk)
        return str(total.item()).encode()

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(16), options=OPTIONS)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("peer.Sum", {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Stream": grpc.stream_unary_rpc_method_handler(stream)}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return port, server.wait_for_termination


def connect(target, size, _):
    import grpc

    channel = grpc.insecure_channel(target, options=OPTIONS)
    data = load.payload(size)
    if size <= STREAM_THRESHOLD_BYTES:
        unary = channel.unary_unary("/peer.Sum/Unary")
        return lambda: float(unary(data))
    stream = channel.stream_unary("/peer.Sum/Stream")
    view = memoryview(data)

    def chunks():
        for at in range(0, len(view), CHUNK_BYTES):
            yield bytes(view[at:at + CHUNK_BYTES])

    return lambda: float(stream(chunks()))


if __name__ == "__main__":
    load.main(serve, connect, NEEDS)
