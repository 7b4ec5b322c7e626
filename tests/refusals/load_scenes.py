"""Refusals for load: something is full now, or is over a limit for good."""

import contextlib
import gzip
import time

from contract import METHODS, v1
from servers import Segment, await_tensor, held_server, register, server, upload, write_header
from texts import in_region, ops, resident, sum_of, tensor, values

# Above what whoever brings a request to a CPU reduces at once, so that it is queued.
QUEUED_BYTES = 40 << 10
SUM_BYTES = 8  # of a result, which is held from before it is made
STREAMS_IN_USE = 'warpfold_workers{state="in_use"}'


def good_requests(client, size_bytes=QUEUED_BYTES, settle=lambda: None):
    """By method, what nothing but load can refuse: of all methods that are admitted.

    `settle` is called after each request that this takes.
    """
    spec = sum_of(tensor("DTYPE_U8", size_bytes))
    reduction = v1("ReduceRequest", spec)
    reduction.data = bytes(size_bytes)
    small = sum_of(tensor("DTYPE_U8", 4)) + "data: 'abcd' return_state: true"
    merge = v1("MergeRequest")
    merge.states.append(client.get("Reduce", small).state)
    settle()
    tensor_id = upload(client, "DTYPE_U8", [16])
    settle()
    inference = client.message(
        "ModelInfer",
        'model_name: "sum" inputs { name: "INPUT" datatype: "UINT8" ' + f"shape: {size_bytes} }}",
    )
    inference.raw_input_contents.append(bytes(size_bytes))
    return {
        "Reduce": reduction,
        "ReduceMany": reduction,
        "ReduceStream": f"header {{ {spec} }}",
        "Merge": merge,
        "CreateTensor": tensor("DTYPE_U8", 4),
        "WriteTensor": write_header(tensor_id, 16),
        "RegisterSharedMemory": "name: 'new' key: '/new' size_bytes: 1",
        "RegisterCudaMemory": "name: 'new' size_bytes: 1",
        "ModelInfer": inference,
        "ModelStreamInfer": inference,
        "SystemSharedMemoryRegister": "name: 'new' key: '/new' byte_size: 1",
        "CudaSharedMemoryRegister": "name: 'new' byte_size: 1",
    }


@contextlib.contextmanager
def worker_taken(running, client, good):
    """A worker that has `good`'s Reduce, for as long as this."""
    with running.workers_held():
        call = client.begin("Reduce", good["Reduce"]).half_close()
        running.await_metric(STREAMS_IN_USE, 1)
        yield
    call.await_end()


def too_many_requests():
    with held_server("--max-requests-in-flight=1") as running, running.client() as client:

        def settle():
            """A request has its place until its answer is written, a moment after it is read."""
            running.await_metric("warpfold_requests_in_flight", 0)

        good = good_requests(client, settle=settle)
        with worker_taken(running, client, good):
            for method, message in good.items():
                yield method, client.ask(method, message)


def too_many_for_workers():
    """Three of the four requests in flight may need a worker."""
    flags = ("--workers-per-device=1", "--max-requests-in-flight=4")
    with held_server(*flags) as running, running.client() as client:
        good = good_requests(client)
        with worker_taken(running, client, good):
            for _ in range(2):
                client.begin("Reduce", good["Reduce"]).half_close()
            running.await_metric("warpfold_queue_depth", 2)
            for method, message in good.items():
                yield method, client.ask(method, message)


def queue_full():
    flags = ("--workers-per-device=1", "--queue-depth-max=1")
    with held_server(*flags) as running, running.client() as client:
        good = good_requests(client)
        with worker_taken(running, client, good):
            client.begin("Reduce", good["Reduce"])
            running.await_metric("warpfold_queue_depth", 1)
            for method, message in good.items():
                yield method, client.ask(method, message)


def queued_too_long():
    flags = ("--workers-per-device=1", "--queue-timeout-ms=500")
    with held_server(*flags) as running, running.client() as client:
        good = good_requests(client)
        methods = ("Reduce", "ReduceMany", "CreateTensor", "ModelInfer", "ModelStreamInfer")
        with worker_taken(running, client, good):
            calls = {method: client.begin(method, good[method]).half_close() for method in methods}
            running.await_metric("warpfold_queue_depth", len(methods))
            time.sleep(0.6)  # longer than the limit, which the first request has to keep
        for method, call in calls.items():
            yield method, client.hear(call, method)


def too_many_bytes():
    flags = ("--workers-per-device=1", "--max-bytes-in-flight=64KiB")
    with held_server(*flags) as running, running.client() as client:
        good = good_requests(client)
        above = good_requests(client, (64 << 10) + 1)
        above["Merge"].states.append(bytes(64 << 10))
        for method in ("Reduce", "ReduceMany", "Merge", "ModelInfer", "ModelStreamInfer"):
            yield f"payload_above_the_limit/{method}", client.ask(method, above[method])
        good["Merge"].states.append(bytes(QUEUED_BYTES))
        with worker_taken(running, client, good):
            running.await_metric("warpfold_bytes_in_flight", QUEUED_BYTES + SUM_BYTES)
            for method in ("Reduce", "ReduceMany", "Merge", "ModelInfer", "ModelStreamInfer"):
                yield f"bytes_in_flight/{method}", client.ask(method, good[method])


def reduced_meanwhile():
    """A tensor that is being reduced for as long as the only worker is taken."""
    with held_server("--workers-per-device=1") as running, running.client() as client:
        tensor_id = upload(client, "DTYPE_U8", [QUEUED_BYTES], bytes(QUEUED_BYTES))
        with running.workers_held():
            client.begin("Reduce", sum_of(where=resident(tensor_id))).half_close()
            await_tensor(client, tensor_id, reductions=1)
            header = write_header(tensor_id, 1)
            yield "WriteTensor", client.ask("WriteTensor", header)


def too_late():
    """Deadlines that pass while the server waits for the client, or for a worker."""
    with held_server("--workers-per-device=1") as running, running.client() as client:
        good = good_requests(client)
        for method in ("ReduceStream", "WriteTensor"):
            call = client.begin(method, good[method], grpc_timeout="20m")
            yield f"sending/{method}", client.hear(call, method)
            call = client.begin(method, grpc_timeout="20m")
            yield f"no_header/{method}", client.hear(call, method)
        with worker_taken(running, client, good):
            for method, message in good.items():
                if method == "Merge":  # has no more than a client's small tensor to wait for
                    continue
                call = client.begin(method, message, grpc_timeout="20m")
                yield f"queued/{method}", client.hear(call, method)


def silent():
    """Calls that send nothing more, each until the server ends it."""
    with server("--stream-idle-timeout-ms=2000") as running, running.client() as client:
        good = good_requests(client)
        methods = ("ReduceStream", "WriteTensor")
        calls = {
            f"{when}/{method}": (method, client.begin(method, *messages))
            for method in methods
            for when, messages in {"from_the_start": [], "then": [good[method]]}.items()
        }
        for name, (method, call) in calls.items():
            yield name, client.hear(call, method)


def not_whole():
    """A byte of a message, and nothing more until the server ends the call."""
    with server("--message-timeout-ms=1000") as running, running.client() as client:
        calls = {
            name: client.begin(name).send(b"\0", size=10)
            for name in METHODS
        }
        for name, call in calls.items():
            yield name, client.hear(call, name)


def too_many_answer_bytes():
    """Half of the bytes in flight are for large answers, which are held before they are made."""
    columns = 24 << 10
    spec = sum_of(tensor("DTYPE_U8", 2, columns)) + "axes: 0 "
    sums = v1("ReduceRequest", spec)
    sums.data = bytes(2 * columns)
    held_bytes = (2 + SUM_BYTES) * columns
    with held_server("--max-bytes-in-flight=512KiB") as running, running.client() as client:
        with running.workers_held():
            call = client.begin("Reduce", sums).half_close()
            running.await_metric("warpfold_bytes_in_flight", held_bytes)
            for method, message in {
                "Reduce": sums,
                "ReduceMany": sums,
                "ReduceStream": f"header {{ {spec} }}",
            }.items():
                yield method, client.ask(method, message)
        call.await_end()


def too_many_answers():
    """Once answers hold three quarters of the bytes in flight none above 4 KiB comes in."""
    columns = 2000
    spec = sum_of(tensor("DTYPE_U8", 2, columns)) + "axes: 0 "
    sums = v1("ReduceRequest", spec)
    sums.data = bytes(2 * columns)
    held_bytes = (2 + SUM_BYTES) * columns
    with held_server("--max-bytes-in-flight=64KiB") as running, running.client() as client:
        for _ in range(100):
            upload(client, "DTYPE_U8", [0])
        with running.workers_held():
            calls = [client.begin("Reduce", sums).half_close() for _ in range(3)]
            running.await_metric("warpfold_bytes_in_flight", 3 * held_bytes)
            for method, message in {
                "Reduce": sums,
                "ReduceMany": sums,
                "ReduceStream": f"header {{ {spec} }}",
                "ListTensors": "",
            }.items():
                yield method, client.ask(method, message)
        for call in calls:
            call.await_end()


def too_large_lists():
    with server("--max-bytes-in-flight=64KiB") as running, running.client() as client:
        for _ in range(1000):
            upload(client, "DTYPE_U8", [0])
        yield "ListTensors", client.ask("ListTensors", "")


def too_large_answers():
    """Results are held, as payload is; those of nothing can be many."""
    with server("--max-bytes-in-flight=64KiB") as running, running.client() as client:
        wide = sum_of(tensor("DTYPE_F64", 0, 8193)) + "axes: 0 "
        for method, message in {
            "Reduce": wide + "data: ''",
            "ReduceMany": wide + "data: ''",
            "ReduceStream": f"header {{ {wide} }}",
        }.items():
            yield method, client.ask(method, message)


def costly_to_parse():
    """Messages to Merge that are no larger than they may be."""
    with server() as running, running.client() as client:
        states = b"\x12\x00" * (40 << 10)  # no bytes each
        yield "Merge/many_states", client.ask("Merge", states)
        filler = b"\x7a\x80\x80\x80\x02" + bytes(4 << 20)  # field 15 of one state, 4 MiB long
        state = v1("MergeRequest")
        state.states.append(filler)
        yield "Merge/large_header", client.ask("Merge", state)


TENSOR_LIMITS = ("max-tensor-bytes", "max-resident-tensor-bytes", "max-resident-bytes")


def no_room_for_tensors():
    for name, flags, taken, asked in (
        ("bytes", ["--max-resident-bytes=100"], [60], 60),
        ("tensors", ["--max-resident-tensors=1"], [60], 0),
        ("limit_of_0_tensors", ["--max-resident-tensors=0"], [], 0),
        ("limit_of_0_bytes", ["--max-resident-bytes=0"], [], 1),
        (
            "host_memory",
            [f"--{limit}=1024TiB" for limit in TENSOR_LIMITS],
            [],
            1 << 49,  # more than an address space has
        ),
    ):
        with server(*flags) as running, running.client() as client:
            for size_bytes in taken:
                upload(client, "DTYPE_U8", [size_bytes])
            yield f"{name}/CreateTensor", client.ask("CreateTensor", tensor("DTYPE_U8", asked))


def no_room_for_pieces():
    """A tensor that is written in as many pieces as the server keeps account of."""
    with server() as running, running.client() as client:
        pieces_max = client.get("GetServerInfo").limits.max_tensor_pieces
        tensor_id = upload(client, "DTYPE_U8", [2 * pieces_max + 1])
        calls = []
        for i in range(pieces_max):
            call = client.begin("WriteTensor", write_header(tensor_id, 1, 2 * i), "chunk: 'x'")
            calls.append(call.half_close())
            if len(calls) == 64:
                calls.pop(0).await_end()
        for call in calls:
            call.await_end()
        header = write_header(tensor_id, 1, 2 * pieces_max)
        yield "WriteTensor", client.ask("WriteTensor", header)


def no_room_for_regions():
    asked = "name: 'more' key: '$key' size_bytes: 60"
    for name, taken, flag in (
        ("bytes", 1, "--max-shared-memory-bytes=100"),
        ("regions", 1, "--max-memory-regions=1"),
        ("limit_of_0_regions", 0, "--max-memory-regions=0"),
    ):
        with (
            server("--shared-memory-prefix=/", flag) as running,
            Segment(bytes(100)) as segment,
            running.client(key=segment.key) as client,
        ):
            for i in range(taken):
                register(client, f"taken {i}", segment, 60)
            yield f"{name}/RegisterSharedMemory", client.ask("RegisterSharedMemory", asked)
            renamed = asked.replace("size_bytes", "byte_size")
            method = "SystemSharedMemoryRegister"
            yield f"{name}/{method}", client.ask(method, renamed)


def large_scratch():
    """More results than a worker has memory for, though fewer than the limit of them."""
    what, rest = tensor("DTYPE_U8", 1, 1 << 18), "axes: 0 " + ops("OP_MEAN")
    spec = values(what) + rest
    data = bytes(1 << 18)
    with (
        server("--scratch-bytes=1MiB", "--shared-memory-prefix=/") as running,
        Segment(data) as segment,
        running.client() as client,
    ):
        register(client, "region", segment, len(data))
        tensor_id = upload(client, "DTYPE_U8", [1, 1 << 18], data)
        request = v1("ReduceRequest", spec)
        request.data = data
        state = v1("ReduceRequest", spec + "return_state: true")
        state.data = data
        inference = client.message(
            "ModelInfer",
            'model_name: "mean" inputs { name: "INPUT" datatype: "UINT8" shape: [1, 262144] } '
            'parameters { key: "axis" value { int64_param: 0 } }',
        )
        inference.raw_input_contents.append(data)
        mapped = values(what, in_region(size_bytes=len(data))) + rest
        for way, method, message in (
            ("data", "Reduce", request),
            ("data", "ReduceMany", request),
            ("state", "Reduce", state),
            ("chunks", "ReduceStream", f"header {{ {spec} }}"),
            ("region", "Reduce", mapped),
            ("resident", "Reduce", values(what, resident(tensor_id)) + rest),
            ("raw", "ModelInfer", inference),
            ("raw", "ModelStreamInfer", inference),
        ):
            more = [v1("ReduceStreamRequest")] if way == "chunks" else []
            for chunk in more:
                chunk.chunk = data
            yield f"{way}/{method}", client.ask(method, message, *more)


def compressed_messages():
    """Where the operator takes compressed messages."""
    flags = ("--compression=taken", "--max-message-bytes=64KiB")
    with server(*flags) as running, running.client() as client:
        for name, message in {
            "no_gzip": b"no gzip at all",
            "cut_short": gzip.compress(b"x" * 100)[:-10],
            "too_large": gzip.compress(bytes((128 << 10) + 1)),
        }.items():
            for method in ("Reduce", "ReduceMany", "ReduceStream", "Merge", "ModelInfer"):
                call = client.begin(method, grpc_encoding="gzip").send(message, flag=1)
                yield f"{name}/{method}", client.end(call, method)


def no_place_for_calls():
    """Calls that last as long as their client wants: so many of a kind, and no more."""
    flags = ("--max-health-watches=1", "--max-reflection-streams=1")
    with server(*flags) as running, running.client() as client:
        for method in ("Watch", "ServerReflectionInfo"):
            client.begin(method, "").next_message()
            yield method, client.ask(method, "")


SCENES = [
    no_place_for_calls,
    too_many_requests,
    too_many_for_workers,
    queue_full,
    queued_too_long,
    too_many_bytes,
    too_many_answer_bytes,
    too_many_answers,
    reduced_meanwhile,
    too_late,
    silent,
    not_whole,
    too_large_answers,
    too_large_lists,
    costly_to_parse,
    no_room_for_tensors,
    no_room_for_pieces,
    no_room_for_regions,
    large_scratch,
    compressed_messages,
]
