"""What cases ask of a server, and what it told them."""

import base64

import contract
import wire
from golden import Answer

CODES = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS "
    "PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED "
    "INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED"
).split()


def retry_delay_ms(status):
    """What google.rpc.Status says of a retry; None: nothing."""
    delays = []
    for detail in status.details:
        info = contract.MESSAGES["google.rpc.RetryInfo"]()
        assert detail.type_url == "type.googleapis.com/google.rpc.RetryInfo", detail
        info.MergeFromString(detail.value)
        delays.append(info.retry_delay.seconds * 1000 + info.retry_delay.nanos // 1_000_000)
    assert len(delays) < 2, delays
    return delays[0] if delays else None


def answer_of_call(call):
    """A call's own status. A detail and a trailer about a retry come together and agree."""
    number, text = wire.told(call.await_end())
    if number is None:
        return Answer("RESET", "", f"HTTP/2 error {call.reset_by}")
    pushback_ms = call.headers.get("grpc-retry-pushback-ms")
    details = call.headers.get("grpc-status-details-bin")
    if details is None:
        assert pushback_ms is None, f"a trailer alone: {pushback_ms}"
        return Answer(CODES[number], "", text)
    status = contract.MESSAGES["google.rpc.Status"]()
    status.MergeFromString(base64.b64decode(details + "=="))
    assert (status.code, status.message) == (number, text), status
    assert pushback_ms == str(retry_delay_ms(status)), (pushback_ms, status)
    return Answer(CODES[number], "later", text)


def answer_of_item(method, message):
    """What one message of ReduceMany, ModelStreamInfer or reflection says about its item."""
    item = method.response.FromString(message)
    if method.name == "ModelStreamInfer":
        return Answer("ITEM" if item.error_message else "OK", "", item.error_message)
    if method.name == "ServerReflectionInfo":
        error = item.error_response
        return Answer(CODES[error.error_code], "", error.error_message)
    later = "" if retry_delay_ms(item.status) is None else "later"
    return Answer(CODES[item.status.code], later, item.status.message)


class Client:
    """One connection to a server. `values` are what the $names in texts stand for."""

    def __init__(self, port, **values):
        self.connection = wire.Connection(port)
        self.values = values

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.connection.close()

    def message(self, method, text):
        """The method's request that the text describes."""
        return contract.parse(contract.METHODS[method].request, text, **self.values)

    def encode(self, method, message):
        """A request, as text, as itself or as bytes, as bytes."""
        if isinstance(message, str):
            message = self.message(method, message)
        return message if isinstance(message, bytes) else message.SerializeToString()

    def begin(self, method, *messages, **headers):
        """A call with these messages sent, and not half-closed."""
        call = self.connection.call(contract.METHODS[method].path, **headers)
        return self.go_on(call, method, *messages)

    def go_on(self, call, method, *messages):
        for message in messages:
            call.send(self.encode(method, message))
        return call

    def end(self, call, method):
        """Half-closes and waits: what was told, of the first item where there is one."""
        return self.hear(call.half_close(), method)

    def hear(self, call, method):
        method = contract.METHODS[method]
        first = call.next_message() if method.server_streams else None
        answer = answer_of_call(call)
        if first is None or answer.code != "OK":
            return answer
        return answer_of_item(method, first)

    def ask(self, method, *messages, **headers):
        return self.end(self.begin(method, *messages, **headers), method)

    def get(self, method, *messages):
        """The answer of a call that has to succeed, as a message."""
        call = self.begin(method, *messages or [""]).half_close()
        message = call.next_message()
        answer = answer_of_call(call)
        assert answer.code == "OK", f"{method}: {answer}"
        return contract.METHODS[method].response.FromString(message)
