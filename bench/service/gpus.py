"""Measures a resident tensor split over 1, 2, 4 ... GPUs: run.py --gpus=1,2,4.

For each number of GPUs a server of its own sees so many of them; the same tensor is put there and
reduced by one client at a time, which shows latency, and by several, which shows throughput. The
result bits have to be the same for every number.
"""

import json
import shlex
import subprocess
import sys

SPEEDUP_MIN = 0.9  # of the number of GPUs
OPS = {"SUM": "sum", "describe": "min+max+mean+std+nan_count+inf_count"}
CLIENTS_AT_ONCE = 8


def measure(bench_program, server, resident_bytes, seconds):
    command = [str(bench_program), "--server", server.address, "--bytes", str(resident_bytes),
               "--ops", ",".join(OPS.values()), "--clients", f"1,{CLIENTS_AT_ONCE}",
               "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}\n{done.stderr}{server.log_path.read_text()}")
    return json.loads(done.stdout)


def case(name, ops, metric, per_gpus):
    """One line of the table: `metric` by number of GPUs, and how many times the first it is."""
    runs = {gpus: next(run for run in report["runs"]
                       if run["ops"] == ops and run["clients"] == metric[1])
            for gpus, report in per_gpus.items()}
    values = {gpus: run[metric[0]] for gpus, run in runs.items()}
    first = min(values)
    speedups = {gpus: value / values[first] * first if metric[0] == "rps"
                else values[first] / value * first for gpus, value in values.items()}
    return {"case": name, "metric": metric[0], "clients": metric[1], "values": values,
            "speedup": speedups,
            "met": {gpus: speedup >= SPEEDUP_MIN * gpus for gpus, speedup in speedups.items()}}


def summarize(per_gpus):
    cases = []
    for title, ops in OPS.items():
        cases += [case(f"{title}, throughput of {CLIENTS_AT_ONCE} clients", ops,
                       ("rps", CLIENTS_AT_ONCE), per_gpus),
                  case(f"{title}, p50 seen by one client", ops, ("wall_p50_us", 1), per_gpus),
                  case(f"{title}, p50 in the server", ops, ("server_p50_us", 1), per_gpus),
                  case(f"{title}, p50 of the slowest kernel", ops, ("kernel_p50_us", 1), per_gpus)]
    bits = {gpus: [run["result_bits"] for run in report["runs"]]
            for gpus, report in per_gpus.items()}
    return cases, all(one == bits[min(bits)] for one in bits.values())


def table_rows(cases):
    rows = []
    for line in cases:
        row = [line["case"]]
        for gpus, value in line["values"].items():
            text = f"{value:.0f}/s" if line["metric"] == "rps" else f"{value:.0f} us"
            row.append(f"{text}  {line['speedup'][gpus]:.2f}x")
        rows.append(row)
    return rows


def run(server_class, server_command, bench_program, folder, arguments):
    """Measures each number of GPUs in turn; returns what the JSON gets."""
    per_gpus = {}
    for gpus in arguments.gpus:
        visible = ",".join(str(ordinal) for ordinal in range(gpus))
        command = ["env", f"CUDA_VISIBLE_DEVICES={visible}", *server_command,
                   f"--max-resident-bytes={arguments.resident_bytes}",
                   f"--max-resident-tensor-bytes={arguments.resident_bytes}"]
        with server_class(f"gpus-{gpus}", command, folder) as server:
            report = measure(bench_program, server, arguments.resident_bytes, arguments.seconds)
        per_gpus[gpus] = report
        devices = report["runs"][0]["device"]
        print(f"{gpus} GPUs: uploaded in {report['upload_s']:.1f} s; reduced by {devices}",
              flush=True)
        if devices.count(",") + 1 != gpus:
            sys.exit(f"the tensor lies on {devices}, not on {gpus} GPUs")
    cases, same_bits = summarize(per_gpus)
    if not same_bits:
        sys.exit(f"the result bits differ:\n{json.dumps(per_gpus, indent=1)}")
    return {"resident_bytes": arguments.resident_bytes, "speedup_min": SPEEDUP_MIN,
            "same_bits": same_bits, "cases": cases, "reports": per_gpus}
