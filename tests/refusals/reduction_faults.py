"""What can be wrong with a reduction itself, asked by every way that can carry one."""

import contract
from contract import v1

TENSOR = "tensor { dtype: DTYPE_F32 shape: [2, 2] } "
SUM = TENSOR + "ops: OP_SUM "


def sum_of(dtype, *shape):
    return f"tensor {{ dtype: {dtype} shape: {list(shape)} }} ops: OP_SUM "


# Fields of ReduceRequest. The shape is the same where it is not at fault, so that a resident tensor
# and a region of it can stand for the bytes.
FAULTS = {
    "axes_above": SUM + "axes: 2",
    "axes_below": SUM + "axes: -3",
    "axes_of_a_scalar": "tensor { dtype: DTYPE_F32 } ops: OP_SUM axes: 0",
    "axes_twice": SUM + "axes: [1, -1]",
    "dtype_missing": "tensor { shape: [2, 2] } ops: OP_SUM",
    "dtype_unknown": "tensor { dtype: 99 shape: [2, 2] } ops: OP_SUM",
    "nan_policy_unknown": SUM + "nan_policy: 9",
    "nothing_at_all": "",
    "numerics_version_of_another": SUM + "required_numerics_version: 7",
    "ops_argmax_of_nothing": "tensor { dtype: DTYPE_F32 shape: 0 } ops: OP_ARGMAX",
    "ops_argmin_of_nothing": "tensor { dtype: DTYPE_F32 shape: 0 } ops: OP_ARGMIN",
    "ops_max_of_nothing": "tensor { dtype: DTYPE_F32 shape: 0 } ops: OP_MAX",
    "ops_min_of_nothing": "tensor { dtype: DTYPE_F32 shape: [2, 0] } ops: OP_MIN axes: 1",
    "ops_missing": TENSOR,
    "ops_too_many": TENSOR + "ops: OP_SUM " * 17,
    "ops_twice": TENSOR + "ops: [OP_SUM, OP_MEAN, OP_SUM]",
    "ops_unknown": TENSOR + "ops: 99",
    "ops_unspecified": TENSOR + "ops: OP_UNSPECIFIED",
    "request_id_too_long": SUM + f"request_id: '{'x' * 257}'",
    "result_too_large": sum_of("DTYPE_F32", 1 << 15, 2) + "axes: 1",
    "results_of_nothing_too_large": sum_of("DTYPE_F32", 1 << 15, 0) + "axes: 1",
    "results_of_nothing_uncountable": sum_of("DTYPE_I8", 1 << 60, 0) + "axes: 1",
    "shape_negative": sum_of("DTYPE_F32", 2, -1),
    "shape_of_rank_33": sum_of("DTYPE_F32", *[1] * 33),
    "shape_uncountable": sum_of("DTYPE_F32", 1 << 40, 1 << 40),
    "tensor_missing": "ops: OP_SUM",
    "tensor_too_large": sum_of("DTYPE_F32", 1 << 25),
}


def asked_for_a_state(request):
    request.return_state = True
    return request


def as_a_part(request):
    """The first of two parts, whatever may be wrong with the whole."""
    request.part.whole_shape.extend(request.tensor.shape)
    request.part.offset.extend(0 for _ in request.tensor.shape)
    return asked_for_a_state(request)


def of_a_resident_tensor(request, tensor_id):
    request.tensor_id = tensor_id
    return request


def without_its_tensor(request):
    request.ClearField("tensor")
    return request


def of_a_region(request):
    request.memory.name = "region"
    request.memory.size_bytes = 16
    return request


def header(request):
    return contract.MESSAGES["warpfold.v1.ReduceStreamRequest"](header=request)


def as_states(request, return_state):
    """A state has a reduction's fields under the same names."""
    state = v1("PartialState", "version: 4")
    for name in ("tensor", "ops", "axes", "keepdims", "nan_policy", "correction"):
        field = getattr(request, name)
        if name == "tensor":
            if request.HasField(name):
                state.tensor.CopyFrom(field)
        elif name in ("ops", "axes"):
            getattr(state, name).extend(field)
        else:
            setattr(state, name, field)
    merge = v1("MergeRequest")
    merge.request_id = request.request_id
    merge.required_numerics_version = request.required_numerics_version
    merge.return_state = return_state
    merge.states.append(state.SerializeToString())
    return merge


# Way: (method, what makes its message of a ReduceRequest and the client's values).
WAYS = {
    "reduce": ("Reduce", lambda r, _: r),
    "many": ("ReduceMany", lambda r, _: r),
    "stream": ("ReduceStream", lambda r, _: header(r)),
    "region": ("Reduce", lambda r, _: of_a_region(r)),
    "region_many": ("ReduceMany", lambda r, _: of_a_region(r)),
    "merge": ("Merge", lambda r, _: as_states(r, return_state=False)),
    "merge_to_state": ("Merge", lambda r, _: as_states(r, return_state=True)),
}
STATE_WAYS = {
    "state": ("Reduce", lambda r, _: asked_for_a_state(r)),
    "state_stream": ("ReduceStream", lambda r, _: header(asked_for_a_state(r))),
    "part": ("Reduce", lambda r, _: as_a_part(r)),
    "part_many": ("ReduceMany", lambda r, _: as_a_part(r)),
    "part_stream": ("ReduceStream", lambda r, _: header(as_a_part(r))),
}
# Where the tensor is not at fault.
RESIDENT_WAYS = {
    "resident": ("Reduce", lambda r, values: of_a_resident_tensor(r, values["tensor"])),
    "resident_alone": (
        "Reduce",
        lambda r, values: without_its_tensor(of_a_resident_tensor(r, values["tensor"])),
    ),
    "resident_many": ("ReduceMany", lambda r, values: of_a_resident_tensor(r, values["tensor"])),
}
# A state of no elements has no values, however many results there would be.
FITS_AS_A_STATE = {"results_of_nothing_too_large"}


def ways_of(fault):
    yield from WAYS.items()
    if fault not in FITS_AS_A_STATE:
        yield from STATE_WAYS.items()
    if FAULTS[fault].startswith(TENSOR):
        yield from RESIDENT_WAYS.items()


def reduction(client):
    for fault, text in FAULTS.items():
        for way, (method, make) in ways_of(fault):
            message = make(v1("ReduceRequest", text), client.values)
            yield f"{fault}/{way}", client.ask(method, message)
