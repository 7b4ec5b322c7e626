"""Servers under test: processes on free ports of this machine, and where they may run."""

import contextlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]  # of the repository or the bundle
PORT_TIMEOUT_S = 120  # a server that imports torch takes its time
# In a build folder.
SERVER, NULL_SERVER, LOAD = (
    "server/warpfold-server", "bench/service/warpfold_null_server", "client/cpp/warpfold")


def find_programs(build, names=(SERVER, NULL_SERVER, LOAD)):
    """Paths of the programs, by default with the null server: of a build, or the bundle's."""
    paths = [build / name for name in names] if build else [
        ROOT / "bin" / pathlib.Path(name).name for name in names]
    for path in paths:
        if not os.access(path, os.X_OK):
            sys.exit(f"{path}: is not there; give --build")
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
        self.address = None
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


def load_report(program, server, *flags, run_by=()):
    """What `warpfold bench` with these flags reports of the server; run by `run_by`, as taskset."""
    command = [*run_by, str(program), "--json", "bench", "--target", server.address, *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


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
