"""perf_analyzer from PyPI, unmodified, against the real server.

Its binary needs glibc 2.38, which Debian 12 does not have: there these tests skip, unless
$WARPFOLD_PERF_ANALYZER is a command that runs it.
"""

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
import tritonclient.grpc
from running_server import serving

REQUESTS = 300


@pytest.fixture(scope="module")
def perf_analyzer(tmp_path_factory):
    """The command, and the folder of libraries that it opens by their plain names."""
    libraries = tmp_path_factory.mktemp("libraries")
    packages = Path(sysconfig.get_path("purelib"))
    runtime = packages / "nvidia/cu13/lib/libcudart.so.13"
    if runtime.exists():
        (libraries / "libcudart.so").symlink_to(runtime)
    if command := os.environ.get("WARPFOLD_PERF_ANALYZER"):
        return shlex.split(command), libraries
    version = [int(part) for part in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")]
    if version < [2, 38]:
        pytest.skip("perf_analyzer needs glibc 2.38")
    # The binary itself: the script that the package installs ends with 0 whatever it ends with.
    installed = packages / "perf_analyzer/bin/perf_analyzer"
    assert installed.exists() and runtime.exists(), "run.sh installs them"
    return [str(installed)], libraries


@pytest.fixture(scope="module")
def ports(tmp_path_factory):
    """A server that sees two GPUs, through a driver's library that is none."""
    folder = tmp_path_factory.mktemp("driver")
    shutil.copy(os.environ["WARPFOLD_FAKE_NVML"], folder / "libnvidia-ml.so.1")
    with serving("--shared-memory-prefix=/", LD_LIBRARY_PATH=str(folder)) as both:
        yield both


@pytest.fixture
def run(perf_analyzer, ports):
    def run(model, *options):
        target = f"127.0.0.1:{ports[0]}"
        command, libraries = perf_analyzer
        found_in = [str(libraries), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        done = subprocess.run(
            [*command, "-m", model, "-i", "grpc", "-u", target, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"LD_LIBRARY_PATH": ":".join(found_in)},
            text=True,
            timeout=100,
        )
        return done.returncode, done.stdout

    return run


def inferences(ports, model):
    with tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{ports[0]}") as client:
        return client.get_inference_statistics(model).model_stats[0].inference_count


@pytest.mark.parametrize(
    "options",
    [
        ["--concurrency-range=2"],
        ["--concurrency-range=4", "-a"],
        ["--concurrency-range=4", "-a", "--streaming"],
        ["--request-parameter=axis:0:int", "--request-parameter=keepdims:true:bool"],
        ["--request-parameter=nan_policy:omit:string"],
    ],
)
def test_it_measures_every_request(run, ports, options):
    before = inferences(ports, "describe")
    code, text = run("describe", "--shape=INPUT:16,64", f"--request-count={REQUESTS}", *options)
    assert code == 0, text
    assert f"Request count: {REQUESTS}\n" in text, text
    assert inferences(ports, "describe") - before == REQUESTS
    # It read the server's statistics, the first time while requests ran already.
    (seen,) = re.findall(r"Successful request count: (\d+)", text)
    assert 0 < int(seen) <= REQUESTS


def test_it_collects_the_gpus_metrics(run, ports):
    code, text = run(
        "mean",
        "--shape=INPUT:1024",
        f"--request-count={REQUESTS}",
        "--collect-metrics",
        f"--metrics-url=http://127.0.0.1:{ports[1]}/metrics",
        "--metrics-interval=100",
    )
    assert code == 0, text
    assert "Unable to parse" not in text, text
    assert re.search(r"Avg GPU Utilization:\s+GPU-1 : 75", text), text
    assert re.search(r"Avg GPU Power Usage:\s+GPU-1 : 123.456", text), text
    assert re.search(r"Max GPU Memory Usage:\s+GPU-1 : 400", text), text
    assert re.search(r"Total GPU Memory:\s+GPU-1 : 1000", text), text


def test_batches_are_refused_by_itself(run):
    code, text = run("sum", "--shape=INPUT:8", "-b", "2", "--request-count=10")
    assert code != 0
    assert "does not support batching" in text


def test_it_measures_shared_memory(run, ports):
    before = inferences(ports, "max")
    code, text = run(
        "max", "--shape=INPUT:64,1024", "--shared-memory=system", f"--request-count={REQUESTS}"
    )
    assert code == 0, text
    assert inferences(ports, "max") - before == REQUESTS
    with tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{ports[0]}") as client:
        assert not client.get_system_shared_memory_status().regions
