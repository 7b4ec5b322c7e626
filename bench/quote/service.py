"""Tables of the service: beside a null server and its peers, its clients, several GPUs."""

from quote.form import load, size_text, time_text, value_text

# Where a tensor is that is not sent, by the method of `warpfold bench`.
NOT_SENT = {"shared": "in shared memory", "resident": "resident",
            "cuda": "in the client's GPU memory"}


def service_lines(name, place):
    data = load(name)
    lines = [
        f"**Service**, {place}, {data['date']}, `{data['command']}`: against a null server that "
        "answers the same client without looking at the bytes, in the same run. Medians; the "
        "ratio is warpfold's over the null server's.",
        "",
        "| case | null server | warpfold | ratio |",
        "| --- | --- | --- | --- |",
    ]
    for case in data["cases"]:
        wire, own = (value_text(case["metric"], case[key]) for key in ("wire", "warpfold"))
        lines.append(f"| {case['case']} | {wire} | {own} | "
                     f"{case['warpfold'] / case['wire']:.2f} |")
    lines += alone_lines(data.get("alone", []))
    lines += peer_lines(data.get("peers", {}))
    memory = ", ".join(f"{row['rss_kib'] / 1024:.0f} MiB after {row['after']}"
                       for row in data.get("memory", []) if row["after"] != "start")
    if memory:
        lines += ["", f"The server's resident memory: {memory}."]
    idle = ", ".join(f"{100 * row['share']:.1f}% {row['when']}" for row in data.get("idle", []))
    if idle:
        lines += ["", f"A server without requests uses {idle} of one processor."]
    return lines


def alone_lines(cases):
    """Tensors that are not sent: the time of a request beside the kernel's."""
    if not cases:
        return []
    lines = ["", "Tensors that are not sent, one client, RPC included; GB/s are of the whole run:",
             "",
             "| case | p50 | GB/s | in the server | the kernel | a null server that waits as long "
             "as the kernel |",
             "| --- | --- | --- | --- | --- | --- |"]
    for case in cases:
        server, wire_us = case["server_p50_us"], case.get("paused_wire_p50_us")
        lines.append(f"| {size_text(case['bytes'])}, {NOT_SENT[case['method']]} | "
                     f"{time_text(case['p50_us'])} | {case['gb_per_second']:.1f} | "
                     f"{time_text(server['total'])} | "
                     f"{time_text(server['kernel'])} | {time_text(wire_us) if wire_us else '-'} |")
    return lines


def peer_lines(peers):
    """A tensor in, its sum out: warpfold and other servers, in the same run."""
    results = peers.get("results", [])
    if not results:
        return []
    names = list(dict.fromkeys(row["peer"] for row in results))
    requests = list(dict.fromkeys((row["bytes"], row["clients"]) for row in results))
    cells = {(row["peer"], row["bytes"], row["clients"]):
             f"{row['p50_us']:.0f} us, {row['rps']:.0f} requests/s" if row["bytes"] < 1 << 20
             else f"{row['gb_per_second']:.2f} GB/s" for row in results}
    lines = ["", "A tensor in, its sum out, in the same run (bench/peers has the others' code):",
             "",
             f"| request | {' | '.join(names)} |", "| --- |" + " --- |" * len(names)]
    for size, clients in requests:
        row = " | ".join(cells.get((name, size, clients), "-") for name in names)
        lines.append(f"| {size_text(size)}, {clients} client{'s' if clients > 1 else ''} | {row} |")
    return lines


def client_lines():
    """Python's client beside the C++ one, and other clients of KServe v2 beside ours."""
    data = load("clients-h200.json")
    lines = [
        f"**Clients**, {data['gpu']}, {data['processors']} processors, {data['date']}, "
        f"`{data['command']}`: two clients on the same path, in the same run. "
        "A tensor of 256 MiB is sent on one connection by C++, and on four by Python unless the "
        "case says otherwise.",
        "",
        "| case | first, p50 | second, p50 | the second has |",
        "| --- | --- | --- | --- |",
    ]
    for case in data["cases"]:
        base_us, other_us = case["base"]["p50_us"], case["other"]["p50_us"]
        figure = {"added_us": f"{other_us - base_us:.0f} us more",
                  "time": f"{other_us / base_us:.2f} times the time",
                  "speed": f"{base_us / other_us:.2f} times the speed"}[case["figure"]]
        lines.append(f"| {case['case']} | {time_text(base_us)} | {time_text(other_us)} | "
                     f"{figure} |")
    return lines


def gpus_lines(name):
    data = load(name)
    lines = [
        f"**Several GPUs**, {data['gpu']}, {data['date']}, `{data['command']}`, the RPC "
        f"included. SUM, one op, and describe, nine: a resident tensor of {data['bytes'] >> 30} "
        "GiB of f32, reduced by one client.",
        "",
        "| GPUs | case | result | speed-up |",
        "| --- | --- | --- | --- |",
    ]
    for run in data["runs"]:
        metric = run.get("metric", "p50_us")
        lines.append(f"| {run['gpus']} | {run['case']} | {value_text(metric, run[metric])} | "
                     f"{run['speedup']:.2f} |")
    return lines
