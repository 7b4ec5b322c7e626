"""What a server that drains says to calls that began before, and whose messages come after."""

import signal

from load_scenes import good_requests
from servers import server

WITH_ITEMS = ("ReduceMany", "ModelStreamInfer")


def begin(client, method):
    """A call that the server has begun to serve, as far as anybody can tell."""
    call = client.begin(method)
    if method in WITH_ITEMS:
        client.go_on(call, method, "").next_message()
    return call


def begin_to_drain(running, client):
    # What was sent before on the connection is read by now.
    client.get("GetServerInfo")
    running.process.send_signal(signal.SIGTERM)
    while not client.connection.goes_away:
        client.connection.read_frame()


def draining():
    with server() as running, running.client() as client:
        good = good_requests(client)
        begin(client, "ReduceMany")  # keeps the connection until the end
        calls = {method: begin(client, method) for method in good}
        begin_to_drain(running, client)
        for method, call in calls.items():
            client.go_on(call, method, good[method])
            yield method, client.end(call, method)


def not_drained():
    """Calls that have not ended when a drain does."""
    with server("--drain-timeout-ms=0") as running, running.client() as client:
        good = good_requests(client)
        streams = ("ReduceStream", "WriteTensor")
        calls = {method: client.begin(method, good[method]) for method in streams}
        running.await_metric("warpfold_requests_expected", len(streams))
        calls |= {method: begin(client, method) for method in WITH_ITEMS}
        begin_to_drain(running, client)
        for method, call in calls.items():
            yield method, client.hear(call, method)


SCENES = [draining, not_drained]
