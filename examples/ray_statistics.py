#!/usr/bin/env python3
"""Statistics of every feature of a Ray Dataset, whose rows no process holds together.

usage: ray_statistics.py [--server HOST:PORT[,HOST:PORT...]] [--rows N]

main() makes a dataset of vectors; feature_statistics is what takes one of your own. Ray's processes
reduce batches to states, each on a server of its choice; the states, some bytes for each feature,
come back and are merged to the bits of one server's answer to the whole array.
"""

import argparse
import os

import numpy as np
import warpfold

OPS = ["mean", "std", "min", "max", "nan_count"]
BATCH_ROWS = 4096  # a multiple of 8, where rows may be cut (`Part` in reduction.proto)


def state_of(batch, servers, column, shape):
    """A batch of rows, which know their numbers, becomes one row: their state."""
    first, rows = int(batch["id"][0]), len(batch["id"])
    if not np.array_equal(batch["id"], np.arange(first, first + rows)):
        raise ValueError(f"the rows from {first} on do not follow each other")
    part = np.ascontiguousarray(batch[column])
    # Milliseconds, which a batch is larger than; and a process of Ray's may end at any time.
    with warpfold.connect(servers[os.getpid() % len(servers)]) as client:
        state = client.reduce_part(part, OPS, 0, whole_shape=shape, offset=first)
    return {"first": [first], "state": [state]}


def feature_statistics(dataset, column, shape, servers):
    """Results by op, each of `shape[1:]`. The dataset numbers its rows in the column "id"."""
    import ray

    ray.data.DataContext.get_current().execution_options.preserve_order = True
    blocks = dataset.repartition(target_num_rows_per_block=BATCH_ROWS, strict=True)
    states = blocks.map_batches(
        state_of,
        batch_size=BATCH_ROWS,
        fn_kwargs={"servers": servers, "column": column, "shape": shape},
    )
    in_order = sorted(states.take_all(), key=lambda row: row["first"])
    with warpfold.connect(servers[0]) as client:
        return client.merge([row["state"] for row in in_order])


def main():
    parser = argparse.ArgumentParser(description="Statistics of the features of a Ray Dataset.")
    parser.add_argument("--server", default="localhost:50051", metavar="HOST:PORT,...")
    parser.add_argument("--rows", type=int, default=20_000, metavar="N")
    arguments = parser.parse_args()

    import ray

    def vectors(batch):
        rng = np.random.default_rng(batch["id"][0])
        return {**batch, "vector": rng.standard_normal((len(batch["id"]), 8), np.float32)}

    dataset = ray.data.range(arguments.rows).map_batches(vectors, batch_size=1000)
    dataset = dataset.materialize()  # else each use makes the vectors anew
    found = feature_statistics(dataset, "vector", (arguments.rows, 8), arguments.server.split(","))
    for feature in range(8):
        print(", ".join(f"{op} {found[op][feature]:.4g}" for op in OPS))


if __name__ == "__main__":
    main()
