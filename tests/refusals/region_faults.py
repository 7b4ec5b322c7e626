"""What can be wrong with registering memory of a client's, in both protocols, and with its end."""

import os
import socket

from servers import PREFIX, Segment, register
from texts import in_region, sum_of, tensor

KEY = f'key: "{PREFIX}"'
SIZE = "size_bytes: 1 "
NAME = 'name: "new" '

# Of RegisterSharedMemoryRequest. $key is a segment of 64 KiB.
SHARED = {
    "key_missing": NAME + SIZE,
    "key_of_a_dot": NAME + SIZE + 'key: "/."',
    "key_of_another_folder": NAME + SIZE + 'key: "$key/x"',
    "key_of_another_prefix": NAME + SIZE + 'key: "/other"',
    "key_of_nothing": NAME + SIZE + KEY,
    "key_too_long": NAME + SIZE + f'key: "/{"x" * 255}"',
    "key_with_a_zero": NAME + SIZE + 'key: "$key\\000x"',
    "name_missing": SIZE + 'key: "$key"',
    "name_taken": 'name: "region" key: "$key" ' + SIZE,
    "name_too_long": f'name: "{"x" * 257}" key: "$key" ' + SIZE,
    "offset_beyond_the_end": NAME + SIZE + 'key: "$key" offset_bytes: 65537',
    "offset_negative": NAME + SIZE + 'key: "$key" offset_bytes: -1',
    "request_id_too_long": NAME + SIZE + f'key: "$key" request_id: "{"x" * 257}"',
    "size_above_the_limit": NAME + 'key: "$key" size_bytes: 1048577',
    "size_beyond_the_end": NAME + 'key: "$key" size_bytes: 65537',
    "size_beyond_the_end_from_an_offset": NAME + 'key: "$key" size_bytes: 65536 offset_bytes: 1',
    "size_missing": NAME + 'key: "$key"',
    "size_negative": NAME + 'key: "$key" size_bytes: -1',
    "too_much_in_the_message": NAME + f'key: "{"x" * 65536}"',
}
# A server on a CPU takes none of it, whatever is asked.
CUDA = {
    "handle_missing": NAME + SIZE,
    "name_missing": SIZE,
    "request_id_too_long": NAME + SIZE + f'request_id: "{"x" * 257}"',
    "size_missing": NAME,
    "too_much_in_the_message": NAME + f'handle: "{"x" * 65536}"',
}
# What KServe's messages call them.
RENAMED = {
    "SystemSharedMemoryRegister": {"offset_bytes": "offset", "size_bytes": "byte_size"},
    "CudaSharedMemoryRegister": {"handle": "raw_handle", "size_bytes": "byte_size"},
}


def renamed(text, method):
    """The text for KServe's method, which has no request_id, and unsigned numbers."""
    for ours, theirs in RENAMED[method].items():
        text = text.replace(ours, theirs)
    return text.replace(": -1", f": {(1 << 64) - 1}")


def both(client, name, text, ours, theirs):
    yield f"register/{name}/{ours}", client.ask(ours, text)
    if "request_id" not in text:
        yield f"register/{name}/{theirs}", client.ask(theirs, renamed(text, theirs))


SYSTEM = ("RegisterSharedMemory", "SystemSharedMemoryRegister")
PEER = ("RegisterCudaMemory", "CudaSharedMemoryRegister")


def region(client):
    for name, text in SHARED.items():
        yield from both(client, name, text, *SYSTEM)
    for name, text in CUDA.items():
        yield from both(client, f"cuda_{name}", text, *PEER)
    for name, text in {
        "no_name": "",
        "request_id_too_long": f"name: 'region' request_id: '{'x' * 257}'",
        "unknown": "name: 'none'",
    }.items():
        yield f"unregister/{name}", client.ask("UnregisterMemory", text)
    for method in ("SystemSharedMemoryStatus", "CudaSharedMemoryStatus"):
        yield f"status/unknown/{method}", client.ask(method, "name: 'none'")
        # Quoted up to a bound, its control characters as escapes.
        long_name = "\\n" + "x" * 100
        yield f"status/unknown_long/{method}", client.ask(method, f"name: '{long_name}'")
    yield "status/of_the_other_kind", client.ask("CudaSharedMemoryStatus", "name: 'region'")
    yield from unregistered_twice(client)
    yield from no_segments(client)


def unregistered_twice(client):
    with Segment(bytes(16)) as segment:
        register(client, "twice", segment, 16)
        client.get("UnregisterMemory", "name: 'twice'")
    reduction = sum_of(tensor("DTYPE_F32", 4), in_region("twice"))
    yield "unregister/twice", client.ask("UnregisterMemory", "name: 'twice'")
    yield "unregister/used_afterwards", client.ask("Reduce", reduction)


def no_segments(client):
    """Names under the prefix that lead to what is no segment."""
    with Segment(b"") as place:
        path = place.path.with_name(place.path.name + "_other")
        key = f'key: "/{path.name}" '
        makes = {
            "a_folder": (path.mkdir, path.rmdir),
            "a_link": (lambda: path.symlink_to(place.path), path.unlink),
            "a_pipe": (lambda: os.mkfifo(path), path.unlink),
            "a_socket": (lambda: socket.socket(socket.AF_UNIX).bind(str(path)), path.unlink),
            "an_empty_one": (path.touch, path.unlink),
        }
        for name, (make, remove) in makes.items():
            make()
            try:
                yield from both(client, f"key_of_{name}", NAME + SIZE + key, *SYSTEM)
            finally:
                remove()
