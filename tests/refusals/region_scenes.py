"""Regions that the system, the operator or their owner takes something from."""

import os
import resource

from infer_faults import output_with, region, size
from servers import PREFIX, Segment, register, server
from texts import in_region, sum_of, tensor

REDUCTION = sum_of(tensor("DTYPE_U8", 4), in_region(size_bytes=4))
INFERENCE = 'model_name: "sum" inputs { name: "INPUT" datatype: "UINT8" shape: 4 '
OUTPUT = output_with(region(), size(4))


def shrunk():
    """A segment that became smaller than the region."""
    with (
        server("--shared-memory-prefix=/") as running,
        Segment(bytes(64)) as segment,
        running.client() as client,
    ):
        register(client, "region", segment, 64)
        os.truncate(segment.path, 63)
        inference = INFERENCE + region() + size(4) + "}"
        for method, message in (
            ("Reduce", REDUCTION),
            ("ReduceMany", REDUCTION),
            ("ModelInfer", inference),
            ("ModelStreamInfer", inference),
        ):
            yield f"input/{method}", client.ask(method, message)
        for method in ("ModelInfer", "ModelStreamInfer"):
            yield f"output/{method}", client.ask(method, OUTPUT)


def not_writable():
    """A segment that the server may only read. Root may write everything, unless told otherwise."""
    without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    run_by = without if os.geteuid() == 0 else []
    with (
        server("--shared-memory-prefix=/", run_by=run_by) as running,
        Segment(bytes(64), mode=0o400) as segment,
        Segment(bytes(64), mode=0o000) as closed,
        running.client() as client,
    ):
        register(client, "region", segment, 64)
        for method in ("ModelInfer", "ModelStreamInfer"):
            yield f"output/{method}", client.ask(method, OUTPUT)
        text = f"name: 'closed' key: '{closed.key}' size_bytes: 64"
        yield "not_readable/RegisterSharedMemory", client.ask("RegisterSharedMemory", text)


def no_room_to_write():
    """A segment that is too long for what the server's user may write."""
    limited = ["env", "--ignore-signal=XFSZ", "prlimit", "--fsize=4096"]
    with (
        server("--shared-memory-prefix=/", run_by=limited) as running,
        Segment(bytes(8192)) as segment,
        running.client() as client,
    ):
        register(client, "region", segment, 4096, offset_bytes=4096)
        for method in ("ModelInfer", "ModelStreamInfer"):
            yield f"output/{method}", client.ask(method, OUTPUT)


def few_descriptors():
    """Regions may hold a quarter of the descriptors that the server may have open."""
    limited = ["prlimit", "--nofile=64"]
    with (
        server("--shared-memory-prefix=/", run_by=limited) as running,
        Segment(bytes(64)) as segment,
        running.client() as client,
    ):
        for i in range(16):
            register(client, f"region {i}", segment, 64)
        text = f"name: 'one more' key: '{segment.key}' size_bytes: 64"
        yield "RegisterSharedMemory", client.ask("RegisterSharedMemory", text)


def no_descriptors():
    """The server has as many files open as it may."""
    with (
        server("--shared-memory-prefix=/") as running,
        Segment(bytes(64)) as segment,
        running.client() as client,
    ):
        client.ask("GetServerInfo", "")  # connects
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (3, 3))
        text = f"name: 'region' key: '{segment.key}' size_bytes: 64"
        yield "RegisterSharedMemory", client.ask("RegisterSharedMemory", text)


def not_allowed():
    """What a server takes no memory of."""
    with server() as running, running.client() as client:
        for method, text in {
            "RegisterSharedMemory": f"name: 'new' key: '{PREFIX}' size_bytes: 64",
            "SystemSharedMemoryRegister": f"name: 'new' key: '{PREFIX}' byte_size: 64",
            "RegisterCudaMemory": "name: 'new' size_bytes: 64",
            "CudaSharedMemoryRegister": "name: 'new' byte_size: 64",
        }.items():
            yield method, client.ask(method, text)


CUDA = {
    "name_missing": "size_bytes: 64",
    "name_too_long": f"name: '{'x' * 257}' size_bytes: 64",
    "ordinal_above": "name: 'new' size_bytes: 64 device_ordinal: 1",
    "ordinal_below": "name: 'new' size_bytes: 64 device_ordinal: -1",
    "size_above_the_limit": "name: 'new' size_bytes: 65",
    "size_missing": "name: 'new'",
    "size_negative": "name: 'new' size_bytes: -64",
    "no_gpu": "name: 'new' size_bytes: 64 handle: 'no handle'",
}


def cuda_without_a_gpu():
    """CUDA memory is allowed, and there is no GPU."""
    with server("--max-cuda-memory-bytes=64") as running, running.client() as client:
        for name, text in CUDA.items():
            yield f"{name}/RegisterCudaMemory", client.ask("RegisterCudaMemory", text)
            renamed = text.replace("size_bytes", "byte_size").replace("handle", "raw_handle")
            renamed = renamed.replace("device_ordinal", "device_id")
            renamed = renamed.replace("byte_size: -64", f"byte_size: {(1 << 64) - 64}")
            method = "CudaSharedMemoryRegister"
            yield f"{name}/{method}", client.ask(method, renamed)


def large_contents():
    """Elements by their type, of which a message may have 4 MiB."""
    with server() as running, running.client() as client:
        request = client.message("ModelInfer", INFERENCE + "}")
        request.inputs[0].contents.fp32_contents.extend([0] * (1 << 20))
        for method in ("ModelInfer", "ModelStreamInfer"):
            yield method, client.ask(method, request)


SCENES = [
    shrunk,
    not_writable,
    no_room_to_write,
    few_descriptors,
    no_descriptors,
    not_allowed,
    cuda_without_a_gpu,
    large_contents,
]
