"""The README's one table of speed: a few rows of the tables in docs/measurements.md."""

from quote.form import LESS_IS_BETTER, load, size_text, source_text, time_text, value_text

SUM_BYTES = (4 << 20, 4 << 30)
PEER = "grpcio + torch.sum"


def row_text(what, metric, own, beside, other):
    """`other` is what the thing beside it has, in the same metric."""
    ratio = other / own if metric in LESS_IS_BETTER else own / other
    return (f"| {what} | {value_text(metric, own)} | {beside} | {value_text(metric, other)} | "
            f"{ratio:.2f} |")


def kernel_rows(data):
    rows = {(row["dtype"], row["ops"], row["bytes"]): row for row in data["results"]}
    for size in SUM_BYTES:
        row = rows["f32", "sum", size]
        yield (f"| SUM of {size_text(size)} of f32 in GPU memory | {time_text(row['warpfold_us'])} "
               f"| CUB's DeviceReduce | {time_text(row['cub_us'])} | "
               f"{row['cub_us'] / row['warpfold_us']:.2f} |")


def service_rows(data):
    peers = {(row["peer"], row["bytes"], row["clients"]): row for row in data["peers"]["results"]}
    for size, metric in ((4 << 10, "p50_us"), (256 << 20, "gb_per_second")):
        own, other = (peers[name, size, 1][metric] for name in ("warpfold", PEER))
        yield row_text(f"{size_text(size)} sent, its SUM back, 1 client", metric, own, PEER, other)
    for case in data["cases"]:
        if case["case"] == "4 KiB unary, 64 clients":
            yield row_text("4 KiB sent, its SUM back, 64 clients", case["metric"],
                           case["warpfold"], "a gRPC server that does nothing", case["wire"])


def gpu_rows(data):
    runs = {run["gpus"]: run for run in data["runs"] if run["case"] == "SUM"}
    most = max(runs)
    yield row_text(f"SUM of {size_text(data['bytes'])} resident on {most} GPUs", "p50_us",
                   runs[most]["p50_us"], "on 1 GPU", runs[1]["p50_us"])


def lines():
    sources = [("kernels-h200.json", kernel_rows), ("service-h200-cuda.json", service_rows),
               ("gpus-h200x4.json", gpu_rows)]
    found = ["| what | warpfold | compared with | its figure | speed-up |",
             "| --- | --- | --- | --- | --- |"]
    texts = []
    for name, rows in sources:
        data = load(name)
        found += rows(data)
        texts.append(source_text(name, data))
    return [*found, "", "The rows are from: " + "; ".join(texts) + "."]
