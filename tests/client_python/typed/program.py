"""A user's program as type checkers read it; nobody runs it.

A line that ends in a comment `planted` is wrong; each checker has to say so of it and of no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import warpfold
import warpfold.aio
import warpfold.dask


def results(client: warpfold.Client, x: NDArray[np.float32]) -> float:
    total = client.sum(x)
    means = client.mean(x, axis=0, keepdims=True)
    scaled: NDArray[Any] = means[0] / total + client.norm(x)
    print(means.shape, means.dtype.name, scaled.tolist(), x[client.argmax(x)])
    print(int(client.count_nonzero(x)), bool(client.any(x)), client.nanstd(x, ddof=1).item())
    client.sum(x, (0, 1), dtype=np.float64, timeout=3.0, progress=lambda done, of: None)
    total.shapes  # planted
    means.mena()  # planted
    name: str = client.mean(x)  # planted
    len(client.nanmax(x).dtype.name.size)  # planted
    client.median(x)  # planted
    client.sum(x, axis="rows")  # planted
    client.sum(x, axes=0)  # planted
    client.var(x, ddof="1")  # planted
    client.sum(x, timeout="3")  # planted
    return float(total)


def scalars(client: warpfold.Client, x: NDArray[np.float32], out: NDArray[Any]) -> float:
    place: int = int(client.argmax(x))
    spread = client.std(x, ddof=1, timeout=2.0) + client.nanmax(x) / 2
    print(client.ptp(x) + 1, client.ptp(x, axis=0)[0])
    print(client.sum(x, axis=None).item(), x[client.nanargmin(x)], not client.all(x), spread.dtype)
    rows = client.sum(x, axis=1)
    print(rows[0], len(rows), client.min(x, keepdims=True)[0, 0], client.sum(x, None, None, out)[0])
    for row in client.mean(x, (1, 2)):
        print(row)
    means: list[np.floating[Any]] = [client.mean(x), client.var(x), client.std(x), client.norm(x)]
    means += [client.nanmean(x), client.nanvar(x, ddof=1), client.nanstd(x, correction=1)]
    wrong: np.floating[Any] = client.sum(x)  # planted
    client.mean(x).bit_count()  # planted
    client.sum(x)[0]  # planted
    client.ptp(x)[0]  # planted
    client.ptp(x, dtype=np.float64)  # planted
    len(client.mean(x))  # planted
    client.std(x, ddof=1)[0]  # planted
    client.norm(x)[0]  # planted
    client.count_nonzero(x)[0]  # planted
    client.any(x)[0]  # planted
    x[client.max(x)]  # planted
    x[client.any(x).tolst()]  # planted
    number: int = client.sum(x, axis=0)  # planted
    array: NDArray[Any] = client.sum(x)  # planted
    client.argmax(x, axis=0).shap  # planted
    return float(client.min(x)) + place


def several(client: warpfold.Client, x: NDArray[np.float32]) -> int:
    answer = client.reduce(x, ["min", "max"], axis=1)
    kernel_ms = answer.timing.kernel_ns / 1e6
    print(answer["min"][0], answer.device, kernel_ms, [op.upper() for op in answer])
    answer.timings  # planted
    answer["min"].shap  # planted
    answer[0]  # planted
    answer.timing.kernel_ms  # planted
    ops: list[warpfold.Op] = ["sum", "l2_norm"]
    print(client.reduce(x, ops), client.reduce(x, client.info().ops), client.reduce(x, ("sum",)))
    client.reduce(x, 3)  # planted
    client.reduce(x, "sum")  # planted
    client.reduce(x, ["sum", "medain"])  # planted
    client.reduce_part(x, ["medain"], whole_shape=(4,), offset=0)  # planted
    client.reduce_part(x, ["sum"], whole_shape=(4,), offset=0).shape  # planted
    client.merge(["state"])  # planted
    return answer.attempts


def of_dask(x: Any) -> None:
    print(warpfold.dask.ptp(x, axis=0, servers="host:50051"), warpfold.dask.var(x, ddof=1))
    warpfold.dask.reduce(x, ["sum", "ptp"], 0, keepdims=True)["ptp"]
    warpfold.dask.var(x, ddof="1")  # planted
    warpfold.dask.sum(x, ddof=1)  # planted
    warpfold.dask.median(x)  # planted
    warpfold.dask.Servers  # planted
    warpfold.dask.reduce(x, ["medain"])  # planted


def described(client: warpfold.Client, x: NDArray[Any], all: Mapping[str, list[float]]) -> None:
    print(client.describe(x)["mean"].tolist(), client.describe(all)["weight"]["mean"].tolist())
    client.describe(x)["mean"].tolst()  # planted
    client.describe(all)["weight"]["mean"].tolst()  # planted
    client.describe(all).attempts  # planted


def on_server(client: warpfold.Client, x: NDArray[np.float32]) -> None:
    with client.put(x, ttl=60) as tensor:
        print(np.sum(tensor, axis=0), tensor.max(axis=0)[0], tensor.describe().attempts, tensor.id)
        tensor.std(ddof=1).tolist()
        print(float(tensor.sum()) + tensor.sum(0)[0], x[tensor.argmin()])
        mean: np.floating[Any] = tensor.mean()
        tensor.max().shapes  # planted
        tensor.sum()[0]  # planted
        tensor.ptp()[0]  # planted
        tensor.describe().timings  # planted
        tensor.reduce(["sum"])["sum"].tolst()  # planted
        tensor.reduce("sum")  # planted
        tensor.mean(axis="rows")  # planted
        tensor.elements  # planted
    client.put(x, ttl="60")  # planted


def server_itself(target: str) -> tuple[str, ...]:
    with warpfold.connect(target, retry=warpfold.RetryPolicy(attempts_max=3)) as client:
        info = client.info()
        print(info.devices[0].model.upper(), info.limits.max_rank + 1)
        info.device  # planted
        info.devices[0].memory.bit_length()  # planted
        info.limits.max_ranks  # planted
    print(warpfold.connect().target.upper())
    warpfold.connect(50051)  # planted
    warpfold.connect(target, retries=3)  # planted
    return info.ops


async def awaited(target: str, x: NDArray[np.float32]) -> None:
    async with warpfold.aio.connect(target) as client:
        (await client.sum(x)).shapes  # planted
    async with await warpfold.aio.connect(target) as client:
        total = await client.sum(x)
        answer = await client.reduce(x, ["sum"])
        print(total.tolist(), answer["sum"].tolist(), (await client.describe(x)).attempts)
        mean: np.floating[Any] = await client.mean(x)
        client.sum(x).tolist()  # planted
        total.shapes  # planted
        (await client.mean(x))[0]  # planted
        (await client.mean(x, axis=0)).mena()  # planted
        answer.timings  # planted
        await client.reduce(x, ["medain"])  # planted
        (await client.describe({"x": x})).attempts  # planted
        async with await client.put(x) as tensor:
            print((await tensor.max()).tolist())
            tensor.max().tolist()  # planted
            (await tensor.max()).tolst()  # planted


def failed(error: warpfold.WarpfoldError) -> int:
    error.code.value  # without types, so of whatever kind
    error.attempt  # planted
    return error.attempts
