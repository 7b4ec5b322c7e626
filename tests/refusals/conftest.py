"""The option that rewrites the golden file, and the server that most cases are asked of."""

import pytest
from servers import SMALL, Segment, register, server, upload


def pytest_addoption(parser):
    parser.addoption(
        "--update", action="store_true", help="write what the server says into golden.tsv"
    )


@pytest.fixture(scope="session")
def client():
    """Of a server with small limits, two resident tensors and a region.

    $tensor is of four float32, [2, 2], $unwritten too, of which no byte is written; the region
    named `region` is $key's, of 64 KiB.
    """
    with (
        server(*SMALL) as running,
        Segment(bytes(64 << 10)) as segment,
        running.client(key=segment.key) as client,
    ):
        client.values["tensor"] = upload(client, "DTYPE_F32", [2, 2], bytes(16))
        client.values["unwritten"] = upload(client, "DTYPE_F32", [2, 2])
        register(client, "region", segment, 64 << 10)
        yield client
