"""Ray Data's example, where Ray is installed: requirements-ray.txt says how."""

import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import EXAMPLES, PACKAGE

pytest.importorskip("ray")


def test_a_ray_datasets_statistics_are_those_of_the_whole(client, server, tmp_path):
    rows = 10_007
    script = (
        "import sys, numpy as np, ray, ray_statistics as example\n"
        "ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)\n"
        f"x = np.load({str(tmp_path / 'x.npy')!r})\n"
        "dataset = ray.data.range(len(x), override_num_blocks=5).map_batches(\n"
        "    lambda batch: {**batch, 'x': x[batch['id']]}, batch_size=1500)\n"
        "found = example.feature_statistics(dataset, 'x', x.shape, sys.argv[1:])\n"
        f"np.savez({str(tmp_path / 'found.npz')!r}, **found)\n"
    )
    x = np.random.default_rng(7).standard_normal((rows, 6)).astype(np.float32)
    x[::97, 2] = np.nan
    np.save(tmp_path / "x.npy", x)
    done = run(script, server, tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    found = np.load(tmp_path / "found.npz")
    whole = client.reduce(x, list(found), 0)
    for op in found:
        assert found[op].tobytes() == whole[op].tobytes()


def run(script, server, folder):
    """In a process and a home of its own: Ray leaves both something."""
    return subprocess.run(
        [sys.executable, "-c", script, server],
        capture_output=True,
        text=True,
        timeout=280,
        env={
            **os.environ,
            "PYTHONPATH": f"{EXAMPLES}:{PACKAGE}",  # of its workers, too
            "HOME": str(folder),
            "RAY_AUTH_MODE": "disabled",
        },
    )
