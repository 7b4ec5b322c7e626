"""What can be wrong with a reduction itself, asked by every way that can carry one."""

import contract
from contract import v1
from texts import ops, sum_of, tensor, values

TENSOR = tensor("DTYPE_F32", 2, 2)
SUM = sum_of(TENSOR)
NOTHING = tensor("DTYPE_F32", 0)


def variance(op, parameters=""):
    return f"ops {{ op: {op} variance {{ {parameters} }} }} "


def summing(dtype, *shape):
    return sum_of(tensor(dtype, *shape))


# Fields of ReduceRequest. The shape is the same where it is not at fault, so that a resident tensor
# and a region of it can stand for the bytes.
FAULTS = {
    "axes_above": SUM + "axes: 2",
    "axes_below": SUM + "axes: -3",
    "axes_of_a_scalar": summing("DTYPE_F32") + "axes: 0",
    "axes_twice": SUM + "axes: [1, -1]",
    "dtype_missing": sum_of("tensor { shape: [2, 2] } "),
    "dtype_unknown": summing("99", 2, 2),
    "nan_policy_unknown": SUM + "nan_policy: 9",
    "nothing_at_all": "",
    "numerics_version_of_another": SUM + "required_numerics_version: 7",
    "ops_argmax_of_nothing": values(NOTHING) + ops("OP_ARGMAX"),
    "ops_argmin_of_nothing": values(NOTHING) + ops("OP_ARGMIN"),
    "ops_correction_infinite": values(TENSOR) + variance("OP_STD", "correction: inf"),
    "ops_correction_nan": SUM + variance("OP_VAR", "correction: nan"),
    "ops_max_of_nothing": values(NOTHING) + ops("OP_MAX"),
    "ops_min_of_nothing": values(tensor("DTYPE_F32", 2, 0)) + ops("OP_MIN") + "axes: 1",
    "ops_missing": values(TENSOR),
    "ops_parameters_of_none": values(TENSOR) + variance("OP_SUM"),
    "ops_ptp_of_nothing": values(NOTHING) + ops("OP_PTP"),
    "ops_too_many": values(TENSOR) + ops(*["OP_SUM"] * 17),
    "ops_twice": values(TENSOR) + ops("OP_SUM", "OP_MEAN", "OP_SUM"),
    "ops_two_corrections": SUM
    + variance("OP_VAR", "correction: 1")
    + variance("OP_STD", "correction: 1.5"),
    "ops_two_corrections_one_left_out": values(TENSOR)
    + variance("OP_VAR", "correction: 1")
    + ops("OP_STD"),
    "ops_unknown": values(TENSOR) + ops("99"),
    "ops_unspecified": values(TENSOR) + ops("OP_UNSPECIFIED"),
    "product_too_long": values(tensor("DTYPE_F64", 1 << 53)) + ops("OP_SUM", "OP_PROD"),
    "request_id_too_long": SUM + f"request_id: '{'x' * 257}'",
    "result_too_large": summing("DTYPE_F32", 1 << 15, 2) + "axes: 1",
    "results_of_nothing_too_large": summing("DTYPE_F32", 1 << 15, 0) + "axes: 1",
    "results_of_nothing_uncountable": summing("DTYPE_I8", 1 << 60, 0) + "axes: 1",
    "shape_negative": summing("DTYPE_F32", 2, -1),
    "shape_of_rank_33": summing("DTYPE_F32", *[1] * 33),
    "shape_uncountable": summing("DTYPE_F32", 1 << 40, 1 << 40),
    "tensor_missing": sum_of(),
    "tensor_too_large": summing("DTYPE_F32", 1 << 25),
}
# An OpSpec as a newer client sends it: with a field, 15, that nobody knows here.
NEWER_OPS = {
    "ops_field_unknown": b"\x08\x01\x78\x01",
    "ops_field_unknown_beside_parameters": b"\x08\x06\x12\x00\x7a\x00",
    "ops_parameter_unknown": b"\x08\x06\x12\x02\x78\x01",
}
ROLES = ("OTHER", "MASK", "WEIGHTS", "SCALES", "SEGMENTS")
# Of sources, which states have none of.
SOURCES = {
    **{f"second_source_{role.lower()}": SUM + values(f"role: {role} {TENSOR}") for role in ROLES},
    "second_source_of_an_unknown_role": SUM + values(f"role: 9 {TENSOR}"),
    "second_source_values": SUM + values(TENSOR),
    "sources_missing": ops("OP_SUM"),
    "sources_none_of_values": sum_of("role: MASK " + TENSOR),
}


def requests():
    """By fault."""
    found = {fault: v1("ReduceRequest", text) for fault, text in (FAULTS | SOURCES).items()}
    for fault, op in NEWER_OPS.items():
        found[fault] = v1("ReduceRequest", values(TENSOR))
        found[fault].ops.add().MergeFromString(op)
    return found


def first(request):
    """Its first source, which is there from now on."""
    return request.sources[0] if request.sources else request.sources.add()


def asked_for_a_state(request):
    request.return_state = True
    return request


def as_a_part(request):
    """The first of two parts, whatever may be wrong with the whole."""
    for source in request.sources[:1]:
        request.part.whole_shape.extend(source.tensor.shape)
        request.part.offset.extend(0 for _ in source.tensor.shape)
    request.part.SetInParent()
    return asked_for_a_state(request)


def of_a_resident_tensor(request, tensor_id):
    first(request).tensor_id = tensor_id
    return request


def without_its_tensor(request):
    first(request).ClearField("tensor")
    return request


def of_a_region(request):
    first(request).memory.name = "region"
    first(request).memory.size_bytes = 16
    return request


def header(request):
    return contract.MESSAGES["warpfold.v1.ReduceStreamRequest"](header=request)


def as_states(request, return_state):
    """A state has a reduction's fields under the same names, and its one source's tensor."""
    state = v1("PartialState", "version: 5")
    for source in request.sources:
        if source.HasField("tensor"):
            state.tensor.CopyFrom(source.tensor)
    state.ops.extend(request.ops)
    state.axes.extend(request.axes)
    state.keepdims = request.keepdims
    state.nan_policy = request.nan_policy
    merge = v1("MergeRequest")
    merge.request_id = request.request_id
    merge.required_numerics_version = request.required_numerics_version
    merge.return_state = return_state
    merge.states.append(state.SerializeToString())
    return merge


# Way: (method, what makes its message of a ReduceRequest and the client's $names).
WAYS = {
    "reduce": ("Reduce", lambda r, _: r),
    "many": ("ReduceMany", lambda r, _: r),
    "stream": ("ReduceStream", lambda r, _: header(r)),
}
STATE_WAYS = {
    "state": ("Reduce", lambda r, _: asked_for_a_state(r)),
    "state_stream": ("ReduceStream", lambda r, _: header(asked_for_a_state(r))),
    "part": ("Reduce", lambda r, _: as_a_part(r)),
    "part_many": ("ReduceMany", lambda r, _: as_a_part(r)),
    "part_stream": ("ReduceStream", lambda r, _: header(as_a_part(r))),
}
# With one source, or the tensor of one.
SOURCE_WAYS = {
    "region": ("Reduce", lambda r, _: of_a_region(r)),
    "region_many": ("ReduceMany", lambda r, _: of_a_region(r)),
    "merge": ("Merge", lambda r, _: as_states(r, return_state=False)),
    "merge_to_state": ("Merge", lambda r, _: as_states(r, return_state=True)),
}
# Where the tensor is not at fault.
RESIDENT_WAYS = {
    "resident": ("Reduce", lambda r, names: of_a_resident_tensor(r, names["tensor"])),
    "resident_alone": (
        "Reduce",
        lambda r, names: without_its_tensor(of_a_resident_tensor(r, names["tensor"])),
    ),
    "resident_many": ("ReduceMany", lambda r, names: of_a_resident_tensor(r, names["tensor"])),
}
# A state of no elements has no values, however many results there would be.
FITS_AS_A_STATE = {"results_of_nothing_too_large"}


def ways_of(fault, request):
    yield from WAYS.items()
    if fault not in FITS_AS_A_STATE:
        yield from STATE_WAYS.items()
    if fault in SOURCES:
        return
    yield from SOURCE_WAYS.items()
    if list(request.sources) == list(v1("ReduceRequest", values(TENSOR)).sources):
        yield from RESIDENT_WAYS.items()


def reduction(client):
    for fault, request in requests().items():
        for way, (method, make) in ways_of(fault, request):
            message = v1("ReduceRequest")
            message.CopyFrom(request)
            yield f"{fault}/{way}", client.ask(method, make(message, client.values))
