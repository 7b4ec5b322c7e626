"""What can be wrong with where a tensor's bytes are: in the message, resident, or in a region."""

import struct

from contract import v1
from reduction_faults import SUM, TENSOR
from servers import chunk, upload
from texts import in_region, ops, resident, sum_of, tensor, values

DATA = 'data: "0123456789abcdef" '
NO_ID = "0" * 32
# Two numbers whose sum and product do not fit.
TWICE_THE_MOST = struct.pack("<2q", (1 << 63) - 1, (1 << 63) - 1)
SIGNED = tensor("DTYPE_I64", 2)
# Tensor, and the rest.
OVERFLOWS = {
    "sum": (SIGNED, ops("OP_SUM")),
    "sum_below": (SIGNED, ops("OP_SUM")),
    "sum_of_unsigned": (tensor("DTYPE_U64", 1, 2), "axes: 1 " + ops("OP_MIN", "OP_SUM")),
    "product": (SIGNED, ops("OP_PROD")),
    "product_of_unsigned": (tensor("DTYPE_U64", 2), ops("OP_PROD", "OP_SUM")),
}
OVERFLOW_BYTES = {
    "sum_below": struct.pack("<2q", -1 << 63, -1 << 63),
    "sum_of_unsigned": b"\xff" * 16,
    "product_of_unsigned": b"\xff" * 16,
}


def sum_in(where):
    return sum_of(TENSOR, where)


def part(whole_shape, offset=""):
    offset = f"offset: {offset}" if offset else ""
    return f"return_state: true part {{ whole_shape: {whole_shape} {offset} }} "


# Of ReduceRequest; asked as Reduce and as an item of ReduceMany.
REQUESTS = {
    "consume_of_data": SUM + DATA + "consume: true",
    "consume_of_a_region": sum_in(in_region()) + "consume: true",
    "data_and_nothing_else": DATA,
    "data_and_region": sum_in(in_region()) + DATA,
    "data_and_tensor_id": sum_in(resident("$tensor")) + DATA,
    "data_too_long": SUM + 'data: "0123456789abcdef+"',
    "data_too_short": SUM + 'data: "0123456789abcde"',
    "data_empty": SUM + 'data: ""',
    "data_of_a_scalar": sum_of(tensor("DTYPE_F32")),
    "data_where_there_is_nothing": sum_of(tensor("DTYPE_F32", 0)) + "data: 'x'",
    "data_without_a_source": ops("OP_SUM") + DATA,
    "no_source": SUM,
    "no_source_of_a_part": SUM + part([4, 2], [0, 0]),
    "part_not_of_a_state": SUM + DATA + "part { whole_shape: [2, 2] offset: [0, 0] }",
    "part_beyond_the_end": SUM + part([3, 2], [2, 0]),
    "part_longer_than_the_whole": SUM + part([1, 2], [0, 0]),
    "part_of_a_kept_dimension": SUM + "axes: 0 " + part([4, 3], [0, 0]),
    "part_of_a_negative_dimension": sum_of(tensor("DTYPE_F32", -2, 2)) + part([4, 2], [0, 0]),
    "part_of_a_negative_offset": SUM + part([4, 2], [-1, 0]),
    "part_of_an_uncountable_run": sum_of(tensor("DTYPE_F32", 1 << 62, 4)) + part([4, 2], [0, 0]),
    "part_without_an_offset": SUM + part([4, 2]),
    "part_without_a_whole": SUM + "return_state: true part {}",
    "part_of_a_kept_dimension_that_begins_later": SUM + "axes: 0 " + part([4, 2], [0, 1]),
    "part_of_another_rank": SUM + part(4, [0]),
    "region_beyond_its_end": sum_in(in_region(offset_bytes=65528)),
    "region_of_another_size": sum_in(in_region(size_bytes=15)),
    "region_of_a_negative_offset": sum_in(in_region(offset_bytes=-1)),
    "region_of_a_negative_size": sum_in(in_region(size_bytes=-1)),
    "region_of_no_size": sum_in(in_region(size_bytes=0)),
    "region_offset_beyond_its_end": sum_in(in_region(offset_bytes=65537)),
    "region_unknown": sum_in(in_region("none")),
    "region_without_a_name": sum_in(in_region("")),
    "state_of_a_tensor_id": sum_in(resident("$tensor")) + "return_state: true",
    "part_of_a_tensor_id": sum_in(resident("$tensor")) + part([2, 2], [0, 0]),
    "tensor_id_of_another_dtype": sum_of(tensor("DTYPE_I32", 2, 2), resident("$tensor")),
    "tensor_id_of_another_shape": sum_of(tensor("DTYPE_F32", 4), resident("$tensor")),
    "tensor_id_of_no_id": sum_in(resident("no such thing")),
    "tensor_id_empty": sum_in(resident("")),
    "tensor_id_unknown": sum_in(resident(NO_ID)),
    "tensor_id_not_written": sum_in(resident("$unwritten")),
    "two_sources_data_and_region": SUM + values(TENSOR, in_region()) + DATA,
    "two_sources_region_and_mask": sum_in(in_region()) + values("role: MASK ", resident("$tensor")),
    "two_sources_tensor_id_and_region": sum_in(resident("$tensor")) + values(TENSOR, in_region()),
}


def source(client):
    for method in ("Reduce", "ReduceMany"):
        for name, text in REQUESTS.items():
            yield f"{name}/{method}", client.ask(method, text)


def overflow(client):
    """Integers that do not fit, from every source."""
    for name, (what, rest) in OVERFLOWS.items():
        elements = OVERFLOW_BYTES.get(name, TWICE_THE_MOST)
        text = values(what) + rest
        spec = v1("ReduceRequest", text)
        shape = spec.sources[0].tensor.shape
        tensor_id = upload(
            client, "DTYPE_U64" if "unsigned" in name else "DTYPE_I64", shape, elements
        )
        whole = v1("ReduceRequest", text + "return_state: true")
        whole.data = elements
        state = client.get("Reduce", whole).state
        spec.data = elements
        with open(f"/dev/shm{client.values['key']}", "r+b") as segment:
            segment.write(elements)
        held = values(what, resident(tensor_id)) + rest
        mapped = values(what, in_region()) + rest
        asked = {
            "Reduce": ("Reduce", spec),
            "ReduceMany": ("ReduceMany", spec),
            "ReduceStream": ("ReduceStream", f"header {{ {text} }}", chunk(elements)),
            "resident": ("Reduce", held + "consume: true"),
            "resident_many": ("ReduceMany", held),
            "region": ("Reduce", mapped),
            "region_many": ("ReduceMany", mapped),
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
    text = values(tensor("DTYPE_F64", 7)) + ops("OP_PROD")
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
