"""Calls find the memory of the calls before them: of glibc's heap alone."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

import warpfold

# In a process whose heap nobody has used: faults a call, of 1 MiB by a message.
PROGRAM = """
import resource, sys
import numpy as np, warpfold
x = np.ones(1 << 18, np.float32)
with warpfold.connect(sys.argv[1], shared_memory_mode=None) as client:
    for count in 20, 100:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(count):
            client.sum(x)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / count)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's malloc")
def test_a_message_takes_no_new_pages(server):
    folder = Path(warpfold.__file__).parents[1]
    faults = subprocess.run(
        [sys.executable, "-c", PROGRAM, server],
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(faults.stdout) < 50  # of the 512 pages that message and copy have
