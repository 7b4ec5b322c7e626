"""A server in this process that answers as it is told: it fails, hangs and lies.

It sums float64 vectors, whatever is asked, from bytes that protobuf itself decoded.
"""

import itertools
import mmap
import os
import stat
import threading
from concurrent import futures

import grpc
import numpy as np

from warpfold import _contract

SERVICE = "warpfold.v1.ReductionService"
TENSOR_SERVICE = "warpfold.v1.TensorService"


HANG = object()  # a call that goes on until its client ends it


class Failure:
    """How a call fails. RetryInfo goes into the details as google.rpc.Status has it."""

    def __init__(self, code, message="planned", *, pushback_ms=None, retry_info_ms=None):
        self.code = code
        self.message = message
        self.trailers = []
        if pushback_ms is not None:
            self.trailers.append(("grpc-retry-pushback-ms", str(pushback_ms)))
        if retry_info_ms is not None:
            self.trailers.append(("grpc-status-details-bin", rpc_status(retry_info_ms)))


def rpc_status(retry_info_ms):
    info = _contract.RetryInfo()
    info.retry_delay.nanos = int(retry_info_ms * 1_000_000)
    status = _contract.Status()
    detail = status.details.add()
    detail.type_url = "type.googleapis.com/google.rpc.RetryInfo"
    detail.value = info.SerializeToString()
    return status.SerializeToString()


_ADDRESSES = (
    f"127.{100 + os.getpid() % 100}.{os.getpid() // 100 % 250}.{1 + number % 250}"
    for number in itertools.count()
)


class FakeServer:
    """On a free port of the loopback interface from `with` on."""

    def __init__(self, credentials=None):
        self.calls = []  # "Reduce", "ReduceStream" ..., as they came
        self.requests = []  # with the payload in `data`
        self.writes = []  # (offset, bytes) of WriteTensor
        self.chunk_sizes = []  # of the last stream
        self.failures = []  # taken from the front, one a call; None is success, HANG hangs
        self.answer = None  # bytes to answer with instead of the sum
        self.answers = []  # the same, taken from the front
        self.info = _contract.GetServerInfoResponse(version="fake", ops=[1], dtypes=[13])
        self.hung = threading.Event()  # set when a call has begun to hang
        self.cancelled = threading.Event()  # set when that call is over
        self.left = threading.Semaphore(
            0
        )  # calls that hung until their client left, before their deadline
        self.release = threading.Event()
        self.release.set()
        self.regions = {}  # bytes of a registered region, by its name
        self.places = []  # (offset, size) of what was reduced in regions
        self.modes = []  # of the segments
        self.registration = None  # how every RegisterCudaMemory fails
        self.lose_regions = False  # what is registered is not found
        self.unregistered = threading.Semaphore(0)
        self._credentials = credentials

    def __enter__(self):
        self._server = grpc.server(
            futures.ThreadPoolExecutor(4),
            options=[("grpc.max_receive_message_length", -1), ("grpc.so_reuseport", 0)],
        )
        handlers = {
            "Reduce": grpc.unary_unary_rpc_method_handler(self._reduce),
            "ReduceStream": grpc.stream_unary_rpc_method_handler(self._reduce_stream),
            "GetServerInfo": grpc.unary_unary_rpc_method_handler(self._get_server_info),
        }
        tensor_handlers = {
            "CreateTensor": grpc.unary_unary_rpc_method_handler(self._create_tensor),
            "WriteTensor": grpc.stream_unary_rpc_method_handler(self._write_tensor),
            "DeleteTensor": grpc.unary_unary_rpc_method_handler(self._delete_tensor),
            "RegisterSharedMemory": grpc.unary_unary_rpc_method_handler(self._register_shared),
            "RegisterCudaMemory": grpc.unary_unary_rpc_method_handler(self._register_cuda),
            "UnregisterMemory": grpc.unary_unary_rpc_method_handler(self._unregister),
        }
        self._server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(SERVICE, handlers),
                grpc.method_handlers_generic_handler(TENSOR_SERVICE, tensor_handlers),
            )
        )
        # On an address that no other fake has: a client that still calls one which is gone, or
        # another process's, must not come here, as it would where a port is taken again.
        if self._credentials is None:
            host = next(_ADDRESSES)
            port = self._server.add_insecure_port(f"{host}:0")
        else:
            host = "localhost"  # which the certificate is for
            port = self._server.add_secure_port("127.0.0.1:0", self._credentials)
        self._server.start()
        self.target = f"{host}:{port}"
        return self

    def __exit__(self, *_):
        self.release.set()
        self._server.stop(None).wait()

    def _get_server_info(self, _data, _context):
        return self.info.SerializeToString()

    def _reduce(self, data, context):
        self._begin("Reduce", context)
        request = _contract.ReduceRequest.FromString(data)
        if request.sources[0].HasField("memory"):
            memory = request.sources[0].memory
            if memory.name not in self.regions:
                context.abort(grpc.StatusCode.NOT_FOUND, "memory.name: no such region")
            begin = memory.offset_bytes
            self.places.append((begin, memory.size_bytes))
            request.data = bytes(self.regions[memory.name][begin : begin + memory.size_bytes])
        return self._answer(request)

    def _reduce_stream(self, messages, context):
        self._begin("ReduceStream", context)
        parts = [_contract.ReduceStreamRequest.FromString(data) for data in messages]
        request = parts[0].header
        chunks = [part.chunk for part in parts[1:]]
        self.chunk_sizes = [len(chunk) for chunk in chunks]
        request.data = b"".join(chunks)
        return self._answer(request)

    def _create_tensor(self, _data, context):
        self._begin("CreateTensor", context)
        return _contract.CreateTensorResponse(tensor_id="t", ttl_ms=5000).SerializeToString()

    def _write_tensor(self, messages, context):
        self._begin("WriteTensor", context)
        parts = [_contract.WriteTensorRequest.FromString(data) for data in messages]
        self.writes.append((parts[0].header.offset_bytes, b"".join(p.chunk for p in parts[1:])))
        return _contract.WriteTensorResponse().SerializeToString()

    def _delete_tensor(self, _data, context):
        self._begin("DeleteTensor", context)
        return b""

    def _register_shared(self, data, context):
        self._begin("RegisterSharedMemory", context)
        request = _contract.RegisterSharedMemoryRequest.FromString(data)
        with open(f"/dev/shm{request.key}", "r+b") as segment:
            self.modes.append(stat.S_IMODE(os.fstat(segment.fileno()).st_mode))
            if not self.lose_regions:
                self.regions[request.name] = mmap.mmap(segment.fileno(), request.size_bytes)
        return b""

    def _register_cuda(self, data, context):
        self._begin("RegisterCudaMemory", context)
        if self.registration is not None:
            self._fail(self.registration, context)
        request = _contract.RegisterCudaMemoryRequest.FromString(data)
        memory = self.gpu.opened(request.handle, request.device_ordinal)
        if memory is None:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "handle: the driver cannot open it")
        self.regions[request.name] = memory[: request.size_bytes]
        return b""

    def _unregister(self, data, context):
        self._begin("UnregisterMemory", context)
        self.regions.pop(_contract.UnregisterMemoryRequest.FromString(data).name, None)
        self.unregistered.release()
        return b""

    def _begin(self, method, context):
        self.calls.append(method)
        if not self.release.is_set():
            context.add_callback(self.cancelled.set)
            self.hung.set()
            self.release.wait()
        if self.failures:
            failure = self.failures.pop(0)
            if failure is None:  # this one succeeds
                return
            if failure is HANG:
                over = threading.Event()
                context.add_callback(over.set)
                over.wait()
                remaining_s = context.time_remaining()  # None: the client ends it by itself
                if remaining_s is None or remaining_s > 0:
                    self.left.release()
                return
            self._fail(failure, context)

    def _fail(self, failure, context):
        context.set_trailing_metadata(failure.trailers)
        context.abort(failure.code, failure.message)

    def _answer(self, request):
        self.requests.append(request)
        if self.answers:
            return self.answers.pop(0)
        return self.answer or sum_answer(request).SerializeToString()


def sum_answer(request):
    total = np.frombuffer(request.data, "<f8").sum()
    answer = _contract.ReduceResponse(request_id=request.request_id, device="fake")
    result = answer.results.add(spec={"op": 1}, data=total.tobytes())
    result.tensor.dtype = 13
    return answer
