#!/usr/bin/env python3
"""Data quality of a Parquet file's numeric column, which is never whole in memory.

usage: parquet_quality.py [--server HOST:PORT] FILE.parquet COLUMN

Batches of rows become partial states, and the states one answer: the bits are those of the whole
column, whatever the batches and the row groups. Nulls count as NaN. Prints the statistics as JSON.
"""

import argparse
import json

import numpy as np
import pyarrow.parquet as pq

import warpfold

OPS = ["min", "max", "mean", "std", "nan_count", "inf_count"]
# Where a flat float64 array may be cut: `Part` in reduction.proto.
CUT = 4096 // 8
BATCH_ROWS = CUT * 256  # 1 MiB


def column_batches(path, column, rows=BATCH_ROWS):
    """The column as float64 in arrays of `rows` rows; the last may have fewer."""
    kept = np.empty(0)
    for batch in pq.ParquetFile(path).iter_batches(columns=[column], batch_size=rows):
        values = batch.column(0).cast("float64").to_numpy(zero_copy_only=False)
        kept = np.concatenate([kept, values])
        while len(kept) >= rows:
            yield kept[:rows]
            kept = kept[rows:]
    yield kept


def quality(client, path, column, rows=BATCH_ROWS):
    """The statistics of a column without its nulls and NaNs, and how many those are."""
    whole_shape = (pq.ParquetFile(path).metadata.num_rows,)
    state = None
    offset = 0
    for batch in column_batches(path, column, rows):
        part = client.reduce_part(batch, OPS, whole_shape=whole_shape, offset=offset, omit_nan=True)
        state = part if state is None else client.merge_states([state, part])
        offset += len(batch)
    return {"rows": offset} | {op: value.item() for op, value in client.merge([state]).items()}


def main():
    parser = argparse.ArgumentParser(description="Data quality of a Parquet file's column.")
    parser.add_argument("file", metavar="FILE.parquet")
    parser.add_argument("column", metavar="COLUMN")
    parser.add_argument("--server", default="localhost:50051", metavar="HOST:PORT")
    arguments = parser.parse_args()
    with warpfold.connect(arguments.server) as client:
        print(json.dumps(quality(client, arguments.file, arguments.column)))


if __name__ == "__main__":
    main()
