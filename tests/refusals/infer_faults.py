"""What can be wrong with a request of the Open Inference Protocol, however its tensor travels."""

from contract import infer

INPUT = 'name: "INPUT" datatype: "FP32" shape: [2, 2] '
SUM = f'model_name: "sum" inputs {{ {INPUT} }} '
DESCRIBE = f'model_name: "describe" inputs {{ {INPUT} }} '
RAW = 'raw_input_contents: "0123456789abcdef" '
CONTENTS = "contents { fp32_contents: [1, 2, 3, 4] } "
REGION = """
    parameters { key: "shared_memory_region" value { string_param: "region" } }
    parameters { key: "shared_memory_byte_size" value { int64_param: 16 } }
"""
# The largest int64, as text has bytes.
MOST = r"\377" * 7 + r"\177"


def model(name, text=INPUT):
    return f'model_name: "{name}" inputs {{ {text} }} '


def tensor(datatype, *shape):
    return f'name: "INPUT" datatype: "{datatype}" shape: {list(shape)} '


def parameter(name, value):
    return f'parameters {{ key: "{name}" value {{ {value} }} }} '


def region(name="region"):
    return parameter("shared_memory_region", f'string_param: "{name}"')


def size(size_bytes):
    return parameter("shared_memory_byte_size", f"int64_param: {size_bytes}")


def offset(offset_bytes):
    return parameter("shared_memory_offset", f"int64_param: {offset_bytes}")


# Everything but the bytes; each is asked with all kinds of them.
FAULTS = {
    "axis_above": SUM + parameter("axis", "int64_param: 2"),
    "axis_below": SUM + parameter("axis", "int64_param: -3"),
    "axis_empty": SUM + parameter("axis", 'string_param: ""'),
    "axis_of_a_bool": SUM + parameter("axis", "bool_param: true"),
    "axis_of_a_word": SUM + parameter("axis", 'string_param: "0,x"'),
    "axis_of_nothing": SUM + parameter("axis", ""),
    "axis_twice": SUM + parameter("axis", 'string_param: "1,-1"'),
    "correction_infinite": model("std") + parameter("correction", "double_param: -inf"),
    "correction_nan": SUM + parameter("correction", "double_param: nan"),
    "correction_beyond_float64": SUM + parameter("correction", f"int64_param: {2**53 + 1}"),
    "correction_of_a_string": SUM + parameter("correction", 'string_param: "1"'),
    "datatype_bytes": model("sum", tensor("BYTES", 2, 2)),
    "datatype_missing": model("sum", 'name: "INPUT" shape: [2, 2]'),
    "datatype_unknown": model("sum", tensor("INT4", 2, 2)),
    "final_mark_of_a_string": SUM
    + parameter("triton_enable_empty_final_response", 'string_param: "true"'),
    "id_too_long": SUM + f'id: "{"x" * 257}"',
    "input_of_another_name": model("sum", 'name: "INPUT0" datatype: "FP32" shape: [2, 2]'),
    "inputs_missing": 'model_name: "sum"',
    "inputs_twice": SUM + f"inputs {{ {INPUT} }}",
    "keepdims_of_a_number": SUM + parameter("keepdims", "int64_param: 1"),
    "model_missing": f"inputs {{ {INPUT} }}",
    "model_unknown": model("resnet\\n" + "x" * 100),
    "nan_policy_of_a_bool": SUM + parameter("nan_policy", "bool_param: true"),
    "nan_policy_unknown": SUM + parameter("nan_policy", 'string_param: "OMIT"'),
    "of_nothing": model("min", tensor("FP32", 0)),
    "of_nothing_described": model("describe", tensor("FP32", 2, 0))
    + parameter("axis", "int64_param: 1"),
    "output_twice": DESCRIBE + 'outputs { name: "SUM" } outputs { name: "SUM" }',
    "output_unknown": SUM + 'outputs { name: "MEAN" }',
    "output_with_a_classification": SUM
    + f'outputs {{ name: "SUM" {parameter("classification", "int64_param: 3")} }}',
    "output_with_a_region_only": SUM + f'outputs {{ name: "SUM" {region()} }}',
    "of_nothing_between": model("ptp", tensor("FP32", 0)),
    "parameter_unknown": SUM + parameter("sequence_id", "int64_param: 1"),
    "result_too_large": model("sum", tensor("FP32", 1 << 15, 2))
    + parameter("axis", "int64_param: 1"),
    "results_of_nothing_uncountable": model("sum", tensor("INT8", 1 << 60, 0))
    + parameter("axis", "int64_param: 1"),
    "shape_negative": model("sum", tensor("FP32", 2, -1)),
    "shape_of_rank_33": model("sum", tensor("FP32", *[1] * 33)),
    "shape_uncountable": model("sum", tensor("FP32", 1 << 40, 1 << 40)),
    "tensor_too_large": model("sum", tensor("FP32", 1 << 25)),
    "numerics_version_negative": SUM + parameter("required_numerics_version", "int64_param: -1"),
    "numerics_version_of_another": SUM + parameter("required_numerics_version", "int64_param: 7"),
    "numerics_version_text": SUM + parameter("required_numerics_version", 'string_param: "1"'),
    "version_unknown": SUM + 'model_version: "2"',
}


def raw(request):
    request.raw_input_contents.append(b"0123456789abcdef")
    return request


def typed(request):
    for tensor_ in request.inputs:
        tensor_.contents.fp32_contents.extend([1, 2, 3, 4])
    return request


def in_a_region(request):
    region = infer(f"inputs {{ {REGION} }}").inputs[0]
    for tensor_ in request.inputs:
        tensor_.MergeFrom(region)
    return request


BYTES = {"raw": raw, "typed": typed, "region": in_a_region, "none": lambda request: request}


def input_with(*parameters):
    return model("sum", INPUT + "".join(parameters))


def output_with(*parameters):
    return SUM + RAW + f'outputs {{ name: "SUM" {"".join(parameters)} }} '


# About the bytes.
SOURCES = {
    "contents_and_raw": model("sum", INPUT + CONTENTS) + RAW,
    "contents_and_region": model("sum", INPUT + CONTENTS + REGION),
    "contents_empty": model("sum", INPUT + "contents {}"),
    "contents_in_a_second_field": model(
        "sum", INPUT + "contents { fp32_contents: [1, 2, 3, 4] int_contents: 1 }"
    ),
    "contents_in_another_field": model("sum", INPUT + "contents { fp64_contents: [1, 2, 3, 4] }"),
    "contents_of_bf16": model("sum", tensor("BF16", 1) + "contents { fp32_contents: 1 }"),
    "contents_of_bytes": model("sum", INPUT + 'contents { bytes_contents: "x" }'),
    "contents_of_fp16": model("sum", tensor("FP16", 1) + "contents { fp32_contents: 1 }"),
    "contents_too_few": model("sum", INPUT + "contents { fp32_contents: [1, 2, 3] }"),
    "contents_too_large_a_number": model(
        "sum", tensor("INT8", 1) + "contents { int_contents: 128 }"
    ),
    "contents_too_large_an_unsigned": model(
        "sum", tensor("UINT16", 1) + "contents { uint_contents: 65536 }"
    ),
    "contents_too_many": model("sum", INPUT + "contents { fp32_contents: [1, 2, 3, 4, 5] }"),
    "nothing": SUM,
    "raw_and_region": model("sum", INPUT + REGION) + RAW,
    "raw_too_long": SUM + 'raw_input_contents: "0123456789abcdef+"',
    "raw_too_short": SUM + 'raw_input_contents: "0123456789abcde"',
    "raw_twice": SUM + RAW + RAW,
    "region_beyond_its_end": input_with(region(), size(16), offset(65528)),
    "region_of_a_negative_offset": input_with(region(), size(16), offset(-1)),
    "region_of_a_negative_size": input_with(region(), size(-1)),
    "region_of_another_size": input_with(region(), size(15)),
    "region_of_a_number": input_with(parameter("shared_memory_region", "int64_param: 1"), size(16)),
    "region_offset_beyond_its_end": input_with(region(), size(16), offset(65537)),
    "region_offset_of_a_string": input_with(
        region(), size(16), parameter("shared_memory_offset", "string_param: '0'")
    ),
    "region_size_of_a_string": input_with(
        region(), parameter("shared_memory_byte_size", "string_param: '16'")
    ),
    "region_unknown": input_with(region("none"), size(16)),
    "region_without_a_name": input_with(region(""), size(16)),
    "region_without_a_size": input_with(region()),
    "size_without_a_region": input_with(size(16)),
    "tensor_parameter_unknown": input_with(parameter("binary_data_size", "int64_param: 16")),
    "output_beyond_its_end": output_with(region(), size(16), offset(65528)),
    "output_of_a_negative_offset": output_with(region(), size(16), offset(-1)),
    "output_of_a_negative_size": output_with(region(), size(-1)),
    "output_offset_beyond_its_end": output_with(region(), size(4), offset(65537)),
    "output_region_unknown": output_with(region("none"), size(4)),
    "output_region_without_a_name": output_with(region(""), size(4)),
    "output_without_a_region": output_with(size(4)),
    "output_without_room": output_with(region(), size(3)),
    "overflow_of_a_sum": model("sum", tensor("INT64", 2))
    + 'raw_input_contents: "'
    + MOST * 2
    + '"',
    "overflow_of_a_product": model("prod", tensor("INT64", 2))
    + 'raw_input_contents: "'
    + MOST * 2
    + '"',
}
# The methods that name a model beside those that infer.
ABOUT_MODELS = ("ModelMetadata", "ModelConfig", "ModelStatistics")


def inference(client):
    for method in ("ModelInfer", "ModelStreamInfer"):
        for fault, text in FAULTS.items():
            for way, add in BYTES.items():
                yield f"request/{fault}/{way}/{method}", client.ask(method, add(infer(text)))
        for name, text in SOURCES.items():
            yield f"source/{name}/{method}", client.ask(method, text)
    for method in ABOUT_MODELS:
        unknown = f'name: "resnet\\n{"x" * 100}"'
        yield f"model/unknown/{method}", client.ask(method, unknown)
        yield f"model/unknown_version/{method}", client.ask(method, 'name: "sum" version: "2"')
        if method != "ModelStatistics":  # of all models
            yield f"model/no_name/{method}", client.ask(method, "")
