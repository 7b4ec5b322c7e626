"""What can be wrong with partial states: each one good as the server made it, but for one edit."""

import math
import struct

from contract import v1
from texts import ops, tensor, values

# Three elements and one, of which none is 0.
WHOLE = values(tensor("DTYPE_I32", 4)) + ops("OP_SUM", "OP_ARGMIN", "OP_COUNT_NONZERO")
FLOATS = values(tensor("DTYPE_F32", 2048)) + ops("OP_VAR", "OP_MIN")


def part(client, whole, offset, length):
    request = v1("ReduceRequest", whole + f"return_state: true part {{ offset: {offset} }}")
    shape = request.sources[0].tensor.shape
    request.part.whole_shape.extend(shape)
    shape[0] = length
    request.data = struct.pack("<i", 1) * math.prod(shape)
    return v1("PartialState").FromString(client.get("Reduce", request).state)


def edited(state, text="", clear=()):
    """`state` with the fields of `text` in place of its own, and without those of `clear`."""
    edit = v1("PartialState", text)
    changed = v1("PartialState")
    changed.CopyFrom(state)
    for name in (*clear, *(field.name for field, _ in edit.ListFields())):
        changed.ClearField(name)
    changed.MergeFrom(edit)
    return changed


def of_a_hypercube(state, i):
    """One of the parts that make up the tensor of 20 dimensions in none of which all have all."""
    lengths = [2] * 20
    offset = [int(d == i) for d in range(20)]
    return edited(
        state,
        f"tensor {{ dtype: DTYPE_I32 shape: {[3] * 20} }} axes: {list(range(20))} "
        f"part_offset: {offset} part_shape: {lengths}",
    )


def with_values(state, component, values):
    changed = edited(state)
    changed.components[component].values = values
    return changed


def with_kind(state, component, kind):
    changed = edited(state)
    changed.components[component].kind = kind
    return changed


def with_revision(state, component, revision):
    changed = edited(state)
    changed.components[component].revision = revision
    return changed


def merging(*states, return_state=False, text=""):
    message = v1("MergeRequest", text)
    message.return_state = return_state
    for state in states:
        message.states.append(state if isinstance(state, bytes) else state.SerializeToString())
    return message


# Edits of the second of two states; the first is the server's.
SECOND = {
    "axes": {"text": "axes: -1 axes: 0"},
    "components_missing": {"clear": ["components"]},
    "dtype": {"text": tensor("DTYPE_U32", 4)},
    "dtype_missing": {"text": "tensor { shape: 4 }"},
    "keepdims": {"text": "keepdims: true"},
    "part_beyond_the_end": {"text": "part_shape: 2"},
    "part_of_a_negative_length": {"text": "part_shape: -1"},
    "part_of_another_rank": {"text": "part_shape: [1, 1]"},
    "nan_policy": {"text": "nan_policy: NAN_POLICY_OMIT"},
    "part_offset_beyond_the_end": {"text": "part_offset: 5"},
    "part_offset_missing": {"clear": ["part_offset"]},
    "part_offset_negative": {"text": "part_offset: -1"},
    "part_offset_of_a_gap": {"text": "part_offset: 4 part_shape: 0"},
    "part_offset_of_an_overlap": {"text": "part_offset: 2"},
    "ops": {"text": ops("OP_SUM", "OP_ARGMIN", "OP_ANY")},
    "ops_in_another_order": {"text": ops("OP_ARGMIN", "OP_SUM", "OP_COUNT_NONZERO")},
    "shape": {"text": tensor("DTYPE_I32", 5)},
    "tensor_missing": {"clear": ["tensor"]},
    "version_missing": {"clear": ["version"]},
    "version_before": {"text": "version: 4"},
    "version_unknown": {"text": "version: 6"},
}
# Of the floats.
CORRECTED = "ops { op: OP_VAR variance { correction: 1 } } " + ops("OP_MIN")


def values_of(state):
    """Values that three elements, or one, cannot come to, and some that are no values."""
    i32 = struct.Struct("<i").pack
    i64 = struct.Struct("<q").pack
    return {
        "a_count_above_the_elements": with_values(state, 2, i64(5)),
        "a_count_below_0": with_values(state, 2, i64(-1)),
        "a_sum_of_larger_numbers": with_values(state, 0, b"\x00\x01\x03\x00" + i32(1)),
        "a_sum_with_a_leading_0": with_values(state, 0, b"\x00\x02\x00\x00" + i32(1) + i32(0)),
        "a_sum_with_flags_of_floats": with_values(state, 0, b"\x08\x01\x00\x00" + i32(1)),
        "a_sum_cut_short": with_values(state, 0, b"\x00\x02\x00\x00" + i32(1)),
        "an_index_of_another_part": with_values(state, 1, i64(1) + i64(1)),
        "an_index_of_none": with_values(state, 1, i64(2**63 - 1) * 2),
        "bytes_missing": with_values(state, 1, bytes(15)),
        "bytes_left_over": with_values(state, 1, bytes(24)),
        "no_bytes": with_values(state, 2, b""),
        "the_kind_of_another": with_kind(state, 1, 7),
        "an_unknown_kind": with_kind(state, 1, 99),
        "no_kind": with_kind(state, 0, 0),
        "no_revision": with_revision(state, 0, 0),
        "an_unknown_revision": with_revision(state, 2, 2),
    }


def merge(client):
    first, second = (part(client, WHOLE, at, n) for at, n in ((0, 3), (3, 1)))
    left, right = (part(client, FLOATS, at, 1024) for at in (0, 1024))
    asked = {f"second/{n}": merging(first, edited(second, **edit)) for n, edit in SECOND.items()}
    asked |= {f"values/{name}": merging(first, state) for name, state in values_of(second).items()}
    asked |= {
        f"values_to_state/{name}": merging(first, state, return_state=True)
        for name, state in values_of(second).items()
    }
    asked |= {
        "alone/the_beginning": merging(first),
        "alone/the_end": merging(second),
        "alone/the_end_of_nothing": merging(edited(second, "part_offset: 4 part_shape: 0")),
        "bytes/no_state": merging(first, b"\xff"),
        "bytes/not_utf8": merging(b"\x0a\x01\xff"),
        "bytes/of_nothing": merging(b""),
        "bytes/of_the_first_cut_short": merging(first.SerializeToString()[:-1], second),
        "order/a_gap": merging(
            edited(left, "part_shape: 100"),
            edited(right, "part_offset: 1000 part_shape: 24"),
            return_state=True,
        ),
        "order/too_many_dimensions": merging(
            *(of_a_hypercube(first, i) for i in range(20)), return_state=True
        ),
        "order/the_first_twice": merging(first, first, second),
        "order/the_last_twice": merging(left, right, right),
        "request/another_numerics_version": merging(
            first, second, text="required_numerics_version: 7"
        ),
        "second/correction": merging(left, edited(right, CORRECTED)),
        "request/no_states": merging(),
        "request/no_states_to_a_state": merging(return_state=True),
        "request/request_id_too_long": merging(first, second, text=f"request_id: '{'x' * 257}'"),
        "request/too_many_results": merging(
            edited(left, "tensor { dtype: DTYPE_F32 shape: [2, 16384] } axes: 0")
        ),
        # Of 512 columns, whose sums and squares may take 128 bytes each.
        "request/too_large_a_state": merging(
            edited(
                left,
                "tensor { dtype: DTYPE_F32 shape: [1024, 512] } axes: 0 "
                "part_offset: [0, 0] part_shape: [1024, 512]",
            ),
            return_state=True,
        ),
        "request/too_many_outputs_for_a_state": merging(
            edited(left, "tensor { dtype: DTYPE_F32 shape: [2, 65537] } axes: 0"), return_state=True
        ),
    }
    for name, message in asked.items():
        yield name, client.ask("Merge", message)
