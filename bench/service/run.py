#!/usr/bin/env python3
"""Measures warpfold-server against a null server ("the wire") in the same run.

Both servers run on free ports of this machine and answer the same client program in turns: one
round measures the wire, then warpfold, so that what else the machine does hits both. A ratio is
taken within a round; the table shows medians over the rounds. Then the server's memory is read
while tensors of growing sizes stream through it. With --gpus a resident tensor is reduced by
several GPUs instead (gpus.py).

From a build tree:  bench/service/run.py --build build/release
From the bundle:    bundle/bench-service.py            (finds bin/ beside itself)
Needs python3 and nothing else.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import gpus

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
PORT_TIMEOUT_S = 60

# name, payload bytes, by stream, clients, what the ratio is of, and the least or most it should be
LATENCY = ("4 KiB unary, 1 client", 4 * KIB, False, 1, "p50_us", ("<=", 1.6))
CASES = [
    LATENCY,
    ("4 KiB unary, 16 clients", 4 * KIB, False, 16, "rps", None),
    ("1 MiB unary, 1 client", MIB, False, 1, "gb_per_second", None),
    ("256 MiB stream, 1 client", 256 * MIB, True, 1, "gb_per_second", (">=", 0.8)),
]
SWEEP_BYTES = [64 * KIB, 256 * KIB, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 64 * MIB]


def parse_size(text):
    for suffix, factor in (("KiB", KIB), ("MiB", MIB), ("GiB", GIB)):
        if text.endswith(suffix):
            return int(float(text[:-3]) * factor)
    return int(text)


def size_text(size):
    for factor, suffix in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {suffix}"
    return f"{size} B"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, help="a build folder")
    parser.add_argument("--bin", type=pathlib.Path, help="a folder with the four programs")
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--server-args", default="", help="more flags for warpfold-server")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="per measurement")
    parser.add_argument("--latency-cpus", type=int, default=4,
                        help="processors that the second latency case keeps to, with its servers "
                             "and its client; 0: no such case")
    parser.add_argument("--rss-sizes", default="1GiB,64MiB,1GiB,16GiB",
                        help="tensors to stream for the memory table; empty: none")
    parser.add_argument("--sweep", action="store_true",
                        help="also unary against stream over sizes, on both servers")
    parser.add_argument("--gpus", type=lambda text: [int(n) for n in text.split(",")], default=[],
                        help="instead of all that: a resident tensor on so many GPUs, as 1,2,4")
    parser.add_argument("--resident-bytes", type=parse_size, default=16 * GIB,
                        help="that tensor's size (default: 16GiB)")
    parser.add_argument("--output", type=pathlib.Path, help="write the results here, as JSON")
    parser.add_argument("--gpu", help="for the JSON; default: what nvidia-smi says")
    parser.add_argument("--driver", help="for the JSON; default: what nvidia-smi says")
    return parser.parse_args()


def find_programs(arguments):
    """Paths of the server, the null server and the load generators."""
    beside = pathlib.Path(__file__).resolve().parent / "bin"
    if arguments.build:
        paths = [arguments.build / "server/warpfold-server",
                 arguments.build / "bench/service/warpfold_null_server",
                 arguments.build / "bench/service/warpfold_bench",
                 arguments.build / "bench/service/warpfold_bench_resident"]
    else:
        folder = arguments.bin or beside
        paths = [folder / name for name in
                 ("warpfold-server", "warpfold_null_server", "warpfold_bench",
                  "warpfold_bench_resident")]
    for path in paths:
        if not os.access(path, os.X_OK):
            sys.exit(f"{path}: is not there; give --build or --bin")
    return [path.resolve() for path in paths]


def nvidia_smi(field):
    if shutil.which("nvidia-smi") is None:
        return ""
    answer = subprocess.run(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"],
                            capture_output=True, text=True, check=False)
    return answer.stdout.splitlines()[0].strip() if answer.returncode == 0 and answer.stdout else ""


class Server:
    """A server process and its address; stopped on leaving the context."""

    def __init__(self, name, command, folder):
        self.name = name
        self.port_file = folder / f"{name}.port"
        self.log_path = folder / f"{name}.log"
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([*command, "--port-file", str(self.port_file)],
                                            stdout=log, stderr=log)

    def __enter__(self):
        try:
            deadline = time.monotonic() + PORT_TIMEOUT_S
            while not self.port_file.exists() or not self.port_file.read_text().strip():
                if self.process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"{self.name} did not start:\n{self.log_path.read_text()}")
                time.sleep(0.02)
        except BaseException:
            self.__exit__()
            raise
        self.address = "127.0.0.1:" + self.port_file.read_text().split()[0]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def memory_kib(self):
        """(resident now, most ever resident) in KiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        return int(fields["VmRSS"].split()[0]), int(fields["VmHWM"].split()[0])


class Bench:
    def __init__(self, program, arguments):
        self.program = program
        self.gpu = arguments.gpu if arguments.gpu is not None else nvidia_smi("name")
        self.driver = arguments.driver
        if self.driver is None:
            self.driver = nvidia_smi("driver_version")
        self.runs = []

    def measure(self, server, size, by_stream, clients, seconds, requests_min=3, warmup=0.2):
        command = [str(self.program), "--server", server.address, "--bytes", str(size),
                   "--clients", str(clients), "--seconds", str(seconds), "--warmup", str(warmup),
                   "--requests-min", str(requests_min), "--gpu", self.gpu, "--driver", self.driver]
        if by_stream:
            command.append("--stream")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{shlex.join(command)}\n{done.stderr}{server.log_path.read_text()}")
        result = json.loads(done.stdout)
        expected = 0 if server.name == "wire" else len(result["ops"])
        if result["results_per_answer"] != expected:
            sys.exit(f"{server.name}: {result['results_per_answer']} results, not {expected}")
        self.runs.append({"server": server.name, **result})
        return result


def unit_text(metric, value):
    return {"p50_us": f"{value:.0f} us", "rps": f"{value:.0f} rps",
            "gb_per_second": f"{value:.2f} GB/s"}[metric]


def print_table(title, header, rows):
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    print(f"\n{title}")
    for row in [header, *rows]:
        cells = [str(cell).ljust(widths[i]) if i == 0 else str(cell).rjust(widths[i])
                 for i, cell in enumerate(row)]
        print("  ".join(cells).rstrip(), flush=True)


@contextlib.contextmanager
def few_processors(count, *servers):
    """All threads of the servers, and programs started meanwhile, on the first `count` processors.

    gRPC polls with half as many threads as there are processors, and they take turns: on many idle
    processors each sleeps long enough for a virtual machine to give its processor away, and a
    request waits tens of microseconds for it to come back. A latency so measured is the host's.
    """
    everywhere = os.sched_getaffinity(0)
    few = set(sorted(everywhere)[:count])

    def pin(processors):
        os.sched_setaffinity(0, processors)
        for server in servers:
            for task in os.listdir(f"/proc/{server.process.pid}/task"):
                with contextlib.suppress(ProcessLookupError):  # a thread that has just ended
                    os.sched_setaffinity(int(task), processors)

    pin(few)
    try:
        yield
    finally:
        pin(everywhere)


def compare(bench, wire, warpfold, arguments):
    """The cases, interleaved. Returns their summary."""
    cases = list(CASES)
    pinned = f"{LATENCY[0]}, on {arguments.latency_cpus} processors"
    if 0 < arguments.latency_cpus < len(os.sched_getaffinity(0)):
        cases.insert(1, (pinned, *LATENCY[1:]))
    ratios = {case[0]: [] for case in cases}
    values = {case[0]: ([], []) for case in cases}
    for _ in range(arguments.rounds):
        for name, size, by_stream, clients, metric, _ in cases:
            with contextlib.ExitStack() as held:
                if name == pinned:
                    held.enter_context(few_processors(arguments.latency_cpus, wire, warpfold))
                pair = [bench.measure(server, size, by_stream, clients, arguments.seconds)[metric]
                        for server in (wire, warpfold)]
            ratios[name].append(pair[1] / pair[0])
            for kept, value in zip(values[name], pair):
                kept.append(value)
    summary, rows = [], []
    for name, size, by_stream, clients, metric, target in cases:
        on_wire, on_warpfold = (statistics.median(v) for v in values[name])
        ratio = statistics.median(ratios[name])
        met = None
        if target is not None:
            met = ratio <= target[1] if target[0] == "<=" else ratio >= target[1]
        summary.append({"case": name, "metric": metric, "wire": on_wire, "warpfold": on_warpfold,
                        "ratio": ratio, "ratio_min": min(ratios[name]),
                        "ratio_max": max(ratios[name]), "target": target, "met": met})
        goal = "" if target is None else f"{target[0]} {target[1]}: {'met' if met else 'MISSED'}"
        rows.append((name, unit_text(metric, on_wire), unit_text(metric, on_warpfold),
                     f"{ratio:.2f}", f"{min(ratios[name]):.2f}..{max(ratios[name]):.2f}", goal))
    print_table(f"medians of {arguments.rounds} rounds, {arguments.seconds} s each",
                ("case", "wire", "warpfold", "ratio", "range", "target"), rows)
    return summary


def sweep(bench, servers, arguments):
    """Unary against stream by size: where a client should change from one to the other."""
    rows, summary = [], []
    for size in SWEEP_BYTES:
        row = [size_text(size)]
        for server in servers:
            speeds = [[], []]
            for _ in range(arguments.rounds):
                for by_stream in (False, True):
                    limit_hit = size >= 64 * MIB and not by_stream  # the server's max_message_bytes
                    if not limit_hit:
                        speeds[by_stream].append(bench.measure(
                            server, size, by_stream, 1, arguments.seconds)["gb_per_second"])
            medians = [statistics.median(s) if s else None for s in speeds]
            row += ["-" if m is None else f"{m:.2f}" for m in medians]
            summary.append({"bytes": size, "server": server.name,
                            "unary_gb_per_second": medians[0], "stream_gb_per_second": medians[1]})
        rows.append(row)
    print_table("GB/s, one client", ("size", "wire unary", "wire stream", "warpfold unary",
                                     "warpfold stream"), rows)
    return summary


def memory(bench, warpfold, sizes):
    """What streaming tensors of growing size does to the server's memory."""
    rows, summary = [], []

    def note(label):
        now_kib, peak_kib = warpfold.memory_kib()
        rows.append((label, f"{now_kib / 1024:.1f}", f"{peak_kib / 1024:.1f}"))
        summary.append({"after": label, "rss_kib": now_kib, "peak_rss_kib": peak_kib})

    note("start")
    for size in sizes:
        bench.measure(warpfold, size, True, 1, 0, requests_min=1, warmup=0)
        note(f"streaming {size_text(size)}")
    print_table("server memory, MiB", ("after", "VmRSS", "VmHWM"), rows)
    return summary


def write(results, output):
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(f"\nwritten: {output}")


def main():
    arguments = parse_arguments()
    server_program, null_program, bench_program, resident_program = find_programs(arguments)
    bench = Bench(bench_program, arguments)
    sizes = [parse_size(text) for text in arguments.rss_sizes.split(",") if text]
    results = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
               "command": shlex.join(sys.argv), "gpu": bench.gpu, "driver": bench.driver,
               "processors": len(os.sched_getaffinity(0)), "backend": arguments.backend}
    server_command = [server_program, "--listen-address=127.0.0.1:0",
                      "--metrics-address=127.0.0.1:0", f"--backend={arguments.backend}",
                      *shlex.split(arguments.server_args)]
    with tempfile.TemporaryDirectory() as folder_name, contextlib.ExitStack() as running:
        folder = pathlib.Path(folder_name)
        if arguments.gpus:
            results |= gpus.run(Server, server_command, resident_program, folder, arguments)
            print_table(f"a resident tensor of {size_text(arguments.resident_bytes)}",
                        ("", *(f"{count} GPUs" for count in arguments.gpus)),
                        gpus.table_rows(results["cases"]))
            return write(results, arguments.output)
        if sizes:  # first and by itself: its memory is to be that of streaming alone
            with Server("warpfold", server_command, folder) as fresh:
                results["memory"] = memory(bench, fresh, sizes)
            fresh.port_file.unlink()
        wire = running.enter_context(
            Server("wire", [null_program, "--listen-address=127.0.0.1:0"], folder))
        warpfold = running.enter_context(Server("warpfold", server_command, folder))
        results["cases"] = compare(bench, wire, warpfold, arguments)
        if arguments.sweep:
            results["sweep"] = sweep(bench, (wire, warpfold), arguments)
    results["runs"] = bench.runs
    return write(results, arguments.output)


if __name__ == "__main__":
    main()
