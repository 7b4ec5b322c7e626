"""What can be wrong with the order of a stream's messages, and with how many bytes they carry."""

from reduction_faults import SUM, TENSOR, summing
from servers import await_tensor, upload, write_header
from texts import in_region, resident, sum_of

HEADER = f"header {{ {SUM} }}"  # of 16 bytes
TO_WRITE = 'header { tensor_id: "$unwritten" size_bytes: 16 }'
HALF = 'chunk: "01234567"'
NOTHING = ""
NO_BYTES = 'chunk: ""'

# The messages of one stream, which is half-closed behind them; as (ReduceStream, WriteTensor).
BOTH = {
    "chunk_before_the_header": [HALF, HEADER],
    "chunk_in_the_header's_message": [b"header and chunk"],
    "chunks_and_then_a_header": [HEADER, HALF, HEADER],
    "empty_chunk_before_the_header": [NO_BYTES],
    "header_twice": [HEADER, HEADER, HALF, HALF],
    "header_twice_behind_the_last_chunk": [HEADER, HALF, HALF, HEADER],
    "message_without_header_or_chunk": [HEADER, NOTHING],
    "message_without_header_or_chunk_first": [NOTHING, HEADER],
    "too_few_bytes": [HEADER, HALF],
    "too_few_bytes_none": [HEADER],
    "too_few_bytes_an_empty_chunk": [HEADER, NO_BYTES],
    "too_many_bytes": [HEADER, HALF, HALF, 'chunk: "x"'],
    "too_many_bytes_in_one_chunk": [HEADER, 'chunk: "0123456789abcdefg"'],
}
HEADERS = {"ReduceStream": HEADER, "WriteTensor": TO_WRITE}

REDUCE_STREAM = {
    "header_of_a_region": [f"header {{ {sum_of(TENSOR, in_region())} }}"],
    "header_of_a_tensor_id": [f"header {{ {sum_of(TENSOR, resident('$tensor'))} }}"],
    "header_with_data": [f"header {{ {SUM} data: '0123456789abcdef' }}"],
    "header_with_data_of_no_bytes": [f"header {{ {SUM} data: '' }}"],
    "header_that_consumes": [f"header {{ {SUM} consume: true }}", HALF, HALF],
    "bytes_where_there_is_nothing": [f"header {{ {summing('DTYPE_F32', 0)} }}", HALF],
    "too_few_bytes_of_a_state": [f"header {{ {SUM} return_state: true }}", HALF],
    "too_many_bytes_of_a_state": [f"header {{ {SUM} return_state: true }}", HALF, HALF, HALF],
    "too_many_bytes_of_an_empty_part": [
        f"header {{ {summing('DTYPE_F32', 0, 2)} return_state: true "
        "part { whole_shape: [2, 2] offset: [0, 0] } }",
        HALF,
    ],
}


def messages_of(client, method, messages):
    for message in messages:
        if message == b"header and chunk":
            yield client.encode(method, HEADERS[method]) + client.encode(method, HALF)
        else:
            yield HEADERS[method] if message == HEADER else message


def order(client):
    for name, messages in BOTH.items():
        for method in HEADERS:
            sent = messages_of(client, method, messages)
            yield f"{name}/{method}", client.ask(method, *sent)
    for name, messages in REDUCE_STREAM.items():
        yield f"{name}/ReduceStream", client.ask("ReduceStream", *messages)


def written(offset_bytes, size_bytes, tensor_id="$unwritten"):
    return [write_header(tensor_id, size_bytes, offset_bytes)]


WRITES = {
    "beyond_the_end": written(8, 9),
    "from_beyond_the_end": written(17, 1),
    "from_before_the_beginning": written(-1, 1),
    "nothing": written(0, 0),
    "nothing_at_the_end": written(16, 0),
    "less_than_nothing": written(0, -1),
    "overflowing": written(1, (1 << 63) - 1),
    "request_id_too_long": [f"header {{ request_id: '{'x' * 257}' }}"],
    "unknown_tensor_id": written(0, 16, "0" * 32),
    "no_tensor_id": ["header { size_bytes: 16 }"],
}


def write(client):
    """WriteTensor: wrong ranges, and calls that exclude each other."""
    for name, messages in WRITES.items():
        yield name, client.ask("WriteTensor", *messages)

    def begin(tensor_id, offset_bytes, size_bytes):
        """A write that the table has taken, and that waits for its bytes."""
        call = client.begin("WriteTensor", write_header(tensor_id, size_bytes, offset_bytes))
        await_tensor(client, tensor_id, writes=1)
        return call

    tensor_id = upload(client, "DTYPE_U8", [16], bytes(16))
    other = begin(tensor_id, 0, 8)
    header = write_header(tensor_id, 2, 7)
    yield "overlapping_another", client.ask("WriteTensor", header)
    reduction = sum_of(where=resident(tensor_id))
    yield "reduced_meanwhile", client.ask("Reduce", reduction)
    client.get("DeleteTensor", f"tensor_id: '{tensor_id}'")
    client.go_on(other, "WriteTensor", HALF)
    yield "deleted_meanwhile", client.end(other, "WriteTensor")
    yield "after_its_deletion", client.ask("WriteTensor", header)


def ended(client):
    """What is asked of a tensor that has ended, in each way that ends one."""
    deleted = upload(client, "DTYPE_U8", [16], bytes(16))
    client.get("DeleteTensor", f"tensor_id: '{deleted}'")
    consumed = upload(client, "DTYPE_U8", [16], bytes(16))
    client.get("Reduce", sum_of(where=resident(consumed)) + "consume: true")
    expired = upload(client, "DTYPE_U8", [16], request="ttl_ms: 1")
    await_tensor(client, expired)
    for how, tensor_id in (("deleted", deleted), ("consumed", consumed), ("expired", expired)):
        reduction = sum_of(where=resident(tensor_id))
        for method, message in (
            ("Reduce", reduction),
            ("ReduceMany", reduction),
            ("WriteTensor", write_header(tensor_id, 16)),
            ("DeleteTensor", f"tensor_id: '{tensor_id}'"),
        ):
            yield f"{how}/{method}", client.ask(method, message)


CREATES = {
    "dtype_missing": "tensor { shape: 4 }",
    "dtype_unknown": "tensor { dtype: 99 }",
    "no_tensor": "",
    "request_id_too_long": f"request_id: '{'x' * 257}' tensor {{ dtype: DTYPE_F32 }}",
    "shape_negative": "tensor { dtype: DTYPE_F32 shape: -1 }",
    "shape_of_rank_33": f"tensor {{ dtype: DTYPE_F32 shape: {[1] * 33} }}",
    "shape_uncountable": "tensor { dtype: DTYPE_F32 shape: [1099511627776, 1099511627776] }",
    "tensor_too_large": "tensor { dtype: DTYPE_U8 shape: 67108865 }",
    "tensor_too_large_to_be_resident": "tensor { dtype: DTYPE_U8 shape: 524289 }",
    "too_much_in_the_message": f"request_id: '{'x' * 65536}'",
    "ttl_negative": "tensor { dtype: DTYPE_F32 } ttl_ms: -1",
    "ttl_too_long": "tensor { dtype: DTYPE_F32 } ttl_ms: 86400001",
    "reader_nameless": "tensor { dtype: DTYPE_F32 } readers: 'monitor' readers: ''",
    "readers_too_many": "tensor { dtype: DTYPE_F32 }" + " readers: 'monitor'" * 65,
}
DELETES = {
    "no_tensor_id": "",
    "request_id_too_long": f"request_id: '{'x' * 257}' tensor_id: '$tensor'",
    "unknown": f"tensor_id: '{'0' * 32}'",
}


def tensor(client):
    for name, message in CREATES.items():
        yield f"create/{name}", client.ask("CreateTensor", message)
    for name, message in DELETES.items():
        yield f"delete/{name}", client.ask("DeleteTensor", message)
