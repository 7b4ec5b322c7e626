"""What can be wrong with where a tensor's bytes are: in the message, resident, or in a region."""

import struct

from contract import v1
from reduction_faults import SUM
from servers import chunk, upload

DATA = 'data: "0123456789abcdef" '
NO_ID = "0" * 32
# Two numbers whose sum and product do not fit.
TWICE_THE_MOST = struct.pack("<2q", (1 << 63) - 1, (1 << 63) - 1)
OVERFLOWS = {
    "sum": "tensor { dtype: DTYPE_I64 shape: 2 } ops: OP_SUM ",
    "sum_below": "tensor { dtype: DTYPE_I64 shape: 2 } ops: OP_SUM ",
    "sum_of_unsigned": "tensor { dtype: DTYPE_U64 shape: [1, 2] } axes: 1 ops: [OP_MIN, OP_SUM] ",
    "product": "tensor { dtype: DTYPE_I64 shape: 2 } ops: OP_PROD ",
    "product_of_unsigned": "tensor { dtype: DTYPE_U64 shape: 2 } ops: [OP_PROD, OP_SUM] ",
}
OVERFLOW_BYTES = {
    "sum_below": struct.pack("<2q", -1 << 63, -1 << 63),
    "sum_of_unsigned": b"\xff" * 16,
    "product_of_unsigned": b"\xff" * 16,
}

# Of ReduceRequest; asked as Reduce and as an item of ReduceMany.
REQUESTS = {
    "consume_of_data": SUM + DATA + "consume: true",
    "consume_of_a_region": SUM + "consume: true memory { name: 'region' size_bytes: 16 }",
    "data_and_nothing_else": DATA,
    "data_too_long": SUM + 'data: "0123456789abcdef+"',
    "data_too_short": SUM + 'data: "0123456789abcde"',
    "data_empty": SUM + 'data: ""',
    "data_of_a_scalar": "tensor { dtype: DTYPE_F32 } ops: OP_SUM",
    "data_where_there_is_nothing": "tensor { dtype: DTYPE_F32 shape: 0 } ops: OP_SUM data: 'x'",
    "no_source": SUM,
    "no_source_of_a_part": SUM + "return_state: true part { whole_shape: [4, 2] offset: [0, 0] }",
    "part_not_of_a_state": SUM + DATA + "part { whole_shape: [2, 2] offset: [0, 0] }",
    "part_beyond_the_end": SUM
    + "return_state: true part { whole_shape: [3, 2] offset: [2, 0] }",
    "part_longer_than_the_whole": SUM
    + "return_state: true part { whole_shape: [1, 2] offset: [0, 0] }",
    "part_of_a_kept_dimension": SUM
    + "axes: 0 return_state: true part { whole_shape: [4, 3] offset: [0, 0] }",
    "part_of_a_negative_dimension": "tensor { dtype: DTYPE_F32 shape: [-2, 2] } ops: OP_SUM "
    "return_state: true part { whole_shape: [4, 2] offset: [0, 0] }",
    "part_of_a_negative_offset": SUM
    + "return_state: true part { whole_shape: [4, 2] offset: [-1, 0] }",
    "part_of_an_uncountable_run": "tensor { dtype: DTYPE_F32 shape: [4611686018427387904, 4] } "
    "ops: OP_SUM return_state: true part { whole_shape: [4, 2] offset: [0, 0] }",
    "part_without_an_offset": SUM + "return_state: true part { whole_shape: [4, 2] }",
    "part_of_a_kept_dimension_that_begins_later": SUM
    + "axes: 0 return_state: true part { whole_shape: [4, 2] offset: [0, 1] }",
    "part_of_another_rank": SUM + "return_state: true part { whole_shape: 4 offset: 0 }",
    "region_beyond_its_end": SUM + "memory { name: 'region' offset_bytes: 65528 size_bytes: 16 }",
    "region_of_another_size": SUM + "memory { name: 'region' size_bytes: 15 }",
    "region_of_a_negative_offset": SUM + "memory { name: 'region' offset_bytes: -1 size_bytes: 16}",
    "region_of_a_negative_size": SUM + "memory { name: 'region' size_bytes: -1 }",
    "region_of_no_size": SUM + "memory { name: 'region' }",
    "region_offset_beyond_its_end": SUM
    + "memory { name: 'region' offset_bytes: 65537 size_bytes: 16 }",
    "region_unknown": SUM + "memory { name: 'none' size_bytes: 16 }",
    "region_without_a_name": SUM + "memory { size_bytes: 16 }",
    "state_of_a_tensor_id": SUM + "return_state: true tensor_id: '$tensor'",
    "part_of_a_tensor_id": SUM
    + "return_state: true part { whole_shape: [2, 2] offset: [0, 0] } tensor_id: '$tensor'",
    "tensor_id_of_another_dtype": "tensor { dtype: DTYPE_I32 shape: [2, 2] } ops: OP_SUM "
    "tensor_id: '$tensor'",
    "tensor_id_of_another_shape": "tensor { dtype: DTYPE_F32 shape: [4] } ops: OP_SUM "
    "tensor_id: '$tensor'",
    "tensor_id_of_no_id": SUM + "tensor_id: 'no such thing'",
    "tensor_id_empty": SUM + "tensor_id: ''",
    "tensor_id_unknown": SUM + f"tensor_id: '{NO_ID}'",
    "tensor_id_not_written": SUM + "tensor_id: '$unwritten'",
}
# Two sources of one request, which no protobuf library writes.
SECOND_SOURCES = {
    "data_and_region": "memory { name: 'region' size_bytes: 16 }",
    "data_and_tensor_id": "tensor_id: '$tensor'",
}


def source(client):
    for method in ("Reduce", "ReduceMany"):
        for name, text in REQUESTS.items():
            yield f"{name}/{method}", client.ask(method, text)
        for name, text in SECOND_SOURCES.items():
            both = client.encode("Reduce", SUM + text) + client.encode("Reduce", DATA)
            yield f"{name}/{method}", client.ask(method, both)


def overflow(client):
    """Integers that do not fit, from every source."""
    for name, text in OVERFLOWS.items():
        elements = OVERFLOW_BYTES.get(name, TWICE_THE_MOST)
        spec = v1("ReduceRequest", text)
        tensor = v1("ReduceRequest", text).tensor
        tensor_id = upload(
            client, "DTYPE_U64" if "unsigned" in name else "DTYPE_I64", tensor.shape, elements
        )
        whole = v1("ReduceRequest", text + "return_state: true")
        whole.data = elements
        state = client.get("Reduce", whole).state
        spec.data = elements
        with open(f"/dev/shm{client.values['key']}", "r+b") as segment:
            segment.write(elements)
        region = "memory { name: 'region' size_bytes: 16 }"
        asked = {
            "Reduce": ("Reduce", spec),
            "ReduceMany": ("ReduceMany", spec),
            "ReduceStream": ("ReduceStream", f"header {{ {text} }}", chunk(elements)),
            "resident": ("Reduce", f"{text} tensor_id: '{tensor_id}' consume: true"),
            "resident_many": ("ReduceMany", f"{text} tensor_id: '{tensor_id}'"),
            "region": ("Reduce", text + region),
            "region_many": ("ReduceMany", text + region),
            "Merge": ("Merge", merge_of(state)),
        }
        for way, (method, *messages) in asked.items():
            yield f"{name}/{way}", client.ask(method, *messages)


# Float64 each. Their product is the middle of two float64 numbers but for one part in 2^180.
NEARLY_A_MIDDLE = struct.pack(
    "<7d", 2**45 - 1, 2**45 + 1, 2**30 + 1, 4033, (2**60 - 2**30 + 1) // 4033, 3, (2**53 + 1) // 3
)


def too_close(client):
    """A product of floats of which 128 bits do not tell how it rounds."""
    text = "tensor { dtype: DTYPE_F64 shape: 7 } ops: OP_PROD "
    spec = v1("ReduceRequest", text)
    spec.data = NEARLY_A_MIDDLE
    whole = v1("ReduceRequest", text + "return_state: true")
    whole.data = NEARLY_A_MIDDLE
    yield "Reduce", client.ask("Reduce", spec)
    yield "ReduceMany", client.ask("ReduceMany", spec)
    yield "ReduceStream", client.ask(
        "ReduceStream", f"header {{ {text} }}", chunk(NEARLY_A_MIDDLE)
    )
    yield "Merge", client.ask("Merge", merge_of(client.get("Reduce", whole).state))


def merge_of(*states):
    merge = v1("MergeRequest")
    merge.states.extend(states)
    return merge
