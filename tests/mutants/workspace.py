"""A copy of the tree, its build, and what its test programs say."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tables import Failed

sys.path.insert(0, str(Path(__file__).parents[1] / "tree"))
from rules import is_made  # noqa: E402


def files_below(root):
    """The tree's files by their paths from `root`: not what a build made, nor .git."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not is_made(name, Path(folder) == root)]
        found += [(Path(folder) / name).relative_to(root).as_posix() for name in names]
    return sorted(found)


def copy_tree(root, files, to):
    """Makes `to` the same as `root`; what is the same already keeps its time, for the build."""
    for path in files:
        source, target = root / path, to / path
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy(source, target)
    for path in set(files_below(to)) - set(files):
        (to / path).unlink()


class Build:
    """Of the copy: a developer's without CUDA, so that ccache may have most of it."""

    def __init__(self, tree, jobs):
        self.tree, self.folder, self.jobs = tree, tree / "build" / "release", jobs
        # Paths below the tree become relative: then another tree's objects fit.
        self.environment = {**os.environ, "CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1"}

    def configure(self):
        command = ["cmake", "--preset", "release", "-DWARPFOLD_CUDA=OFF"]
        if shutil.which("ccache"):
            command.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        done = self.called(command)
        if done.returncode != 0:
            raise Failed(3, f"cmake failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")

    def targets(self, names):
        """(whether they were built, the end of what the compiler said)."""
        done = self.called(["ninja", "-C", str(self.folder), f"-j{self.jobs}", *names])
        return done.returncode == 0, done.stdout[-3000:]

    def called(self, command):
        return subprocess.run(
            command, cwd=self.tree, env=self.environment, capture_output=True, text=True
        )

    def program(self, target):
        found = [p for p in self.folder.glob(f"tests/**/{target}") if os.access(p, os.X_OK)]
        if len(found) != 1:
            raise Failed(2, f"sources.tsv: {target}: {len(found)} programs of that name")
        return found[0]

    def run(self, target, test_filter, timeout_s):
        """What failed, "" when all tests passed, None when there were no tests."""
        command = [
            str(self.program(target)),
            f"--gtest_filter={test_filter}",
            "--gtest_brief=1",
            "--gtest_fail_fast",
        ]
        # A group of its own, since some tests start programs that would outlive a killed one.
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                return f"{target}: did not end in {timeout_s:.0f} s"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return verdict(target, process.returncode, output.decode(errors="replace"))


def verdict(target, returncode, output):
    if re.search(r"0 tests from 0 test (suites|cases) ran", output):
        return None
    if returncode == 0:
        return ""
    failed = re.search(r"\[  FAILED  \] ([\w./]+)", output)
    if failed:
        return failed[1]
    how = signal.Signals(-returncode).name if returncode < 0 else f"exit code {returncode}"
    return f"{target}: {how}"
