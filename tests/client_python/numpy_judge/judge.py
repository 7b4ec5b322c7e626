#!/usr/bin/env python3
"""NumPy's own tests of its reductions, with the client in the place of NumPy's functions.

The test modules that NumPy ships are loaded with one change of their text: every use of a name of
FUNCTIONS, as in np.sum(x), np.linalg.norm(x) or x.sum(), is looked up by `Judge.attribute`. What it
finds calls the client when the call is one that the client promises to answer (`Judge.refusal`),
and NumPy otherwise. NumPy's own code and numpy.testing stay as they are.

expected.json says which tests are about reductions ("parts"). Such a test applies when one of its
calls went to the client; any() and all() alone do not count where other calls did not, for there
they check the answers. A test that fails is run again with NumPy alone: where that fails too, it
says nothing about the client. Every other failure must be among the "exceptions", each of which
must fail; those that fail only for want of NumPy's warnings must pass when NumPy is called as well,
for its warnings.

  judge.py --check    as ctest runs it; exit code 77 where NumPy ships no tests
  judge.py --write    puts this NumPy's counts into expected.json and the report
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import fnmatch
import functools
import importlib.machinery
import importlib.util
import inspect
import json
import os
import sys
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(ROOT / "client" / "python")]

from report import report, summary  # noqa: E402
from running_server import running_server  # noqa: E402

import warpfold  # noqa: E402
from warpfold import _contract  # noqa: E402

SEED = 20261121
EXPECTED = HERE / "expected.json"
REPORT = ROOT / "client" / "python" / "NUMPY.md"
SKIPPED = 77

PLAIN = "sum prod mean var std min max argmin argmax any all count_nonzero".split()
NAN = [f"nan{name}" for name in "sum prod mean var std min max argmin argmax".split()]
# The client's method by NumPy's name.
FUNCTIONS = {name: name for name in [*PLAIN, *NAN, "norm"]} | {"amin": "min", "amax": "max"}
PROMISED_ARGUMENTS = {"axis", "keepdims", "ddof", "correction", "ord", "dtype", "out"}
DTYPES_WITHOUT = {"O": "objects", "c": "complex numbers", "f": "long double"}
DTYPES_WITHOUT |= dict.fromkeys("mM", "dates and times")
PROMISED_TYPES = (np.ndarray, list, tuple, bool, int, float)


class Judge:
    """Sends calls to the client and counts; also pytest's plugin that picks and collects tests."""

    def __init__(self, client, parts):
        self.mode = "client"  # or "numpy": alone; or "warnings": the client, with NumPy's warnings
        self.only = None  # when set, the tests to run
        self.results = {}  # by test: {"outcome", "failure", "calls", "refusals"}
        self.modules = {}  # by path
        self._parts = parts
        self._calls = collections.Counter()  # of the running test, to the client, by function
        self._refusals = collections.Counter()
        self._clients = {}  # the client's method by NumPy's function
        self._routed = {}  # what the tests find for NumPy's function
        for name in FUNCTIONS:
            function = np.linalg.norm if name == "norm" else getattr(np, name)
            self._clients[function] = getattr(client, FUNCTIONS[name])
            self._routed[function] = self._route(function)

    def attribute(self, value, name):
        """What the test modules find for `value.name`."""
        found = getattr(value, name)
        if inspect.ismodule(value):
            return self.function(found)
        if name in PLAIN and (type(value) is np.ndarray or isinstance(value, np.generic)):
            function = getattr(np, name)
            return functools.wraps(found)(
                lambda *arguments, **options: self._call(function, found, arguments, options, value)
            )
        return found

    def function(self, found):
        return self._routed.get(found, found) if inspect.isroutine(found) else found

    def _route(self, function):
        return functools.wraps(function)(
            lambda *arguments, **options: self._call(function, function, arguments, options)
        )

    def _call(self, function, original, arguments, options, *x):
        """`original` is NumPy's own, `function` itself or a method of `x` with its arguments."""
        if self.mode == "numpy":
            return original(*arguments, **options)
        signature = inspect.signature(function)
        try:
            given = signature.bind(*x, *arguments, **options).arguments
        except TypeError:
            refusal = "arguments that NumPy refuses"
        else:
            refusal = self.refusal(given, function, signature)
        if refusal:
            self._refusals[refusal] += 1
            return original(*arguments, **options)
        self._calls[FUNCTIONS[function.__name__]] += 1
        if self.mode == "warnings":
            with contextlib.suppress(Exception):
                original(*arguments, **options)
        first, *others = given
        promised = {
            name: given[name]
            for name in others
            if name in PROMISED_ARGUMENTS and given[name] is not np._NoValue
        }
        return self._clients[function](given[first], **promised)

    def _form_refusal(self, given, function):
        """Why the result is not to have the dtype, or to go where it is to; None where it may."""
        dtype, out = given.get("dtype"), given.get("out")
        if dtype is None and out is None:
            return None
        without = {name: value for name, value in given.items() if name not in ("dtype", "out")}
        try:
            own = np.asarray(function(**without))
        except Exception:
            return "arguments that NumPy refuses"
        if dtype is not None and np.dtype(dtype) != own.dtype:
            return "a dtype= other than the result's"
        if out is not None and (type(out) is not np.ndarray or out.dtype != own.dtype):
            return "an out= of another dtype or class"
        return None

    def refusal(self, given, function, signature):
        """Why the call is not one that the client promises to answer; None when it is."""
        first, *others = given
        for name in others:
            value, default = given[name], signature.parameters[name].default
            if name not in PROMISED_ARGUMENTS or value is np._NoValue:
                if value is not default:
                    return f"{name}="
            elif name in ("ddof", "correction") and float(value) % 1:
                return "a ddof that is no whole number"
            elif name == "ord" and value not in (None, 1, 2):
                return "ord other than None, 1, 2"
        x = given[first]
        if type(x) not in PROMISED_TYPES and not isinstance(x, np.generic):
            return "an argument of a class of its own"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array = np.asarray(x)
        except Exception:
            return "not an array"
        if array.dtype.name not in _contract.DTYPES:
            return DTYPES_WITHOUT.get(array.dtype.kind, "strings and records")
        form = self._form_refusal(given, function)
        if form:
            return form
        if given.get("ord") is not None:
            axis = given.get("axis")
            axes = array.ndim if axis is None else len(axis) if isinstance(axis, tuple) else 1
            if axes != 1:
                return "a norm of matrices"
        return None

    # pytest's hooks
    def pytest_pycollect_makemodule(self, module_path, parent):
        return Module.from_parent(parent, path=module_path)

    def pytest_collectreport(self, report):
        if report.failed:
            print(report.longrepr)

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if self._picks(test_name(item))]

    def _picks(self, name):
        part, _, test = name.partition("::")
        of_reductions = any(fnmatch.fnmatchcase(test, p) for p in self._parts[part])
        return of_reductions if self.only is None else name in self.only

    def pytest_runtest_setup(self, item):
        np.random.seed(SEED)
        self._calls.clear()
        self._refusals.clear()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item):
        report = (yield).get_result()
        result = self.results.setdefault(test_name(item), {"outcome": "passed"})
        if report.outcome != "passed":
            result["outcome"] = report.outcome
            result["failure"] = str(report.longrepr)
        result["calls"] = dict(self._calls)
        result["refusals"] = dict(self._refusals)


def test_name(item):
    """As in expected.json; NumPy 2 has _core for core."""
    return item.nodeid.lstrip("_")


class Rewrite(ast.NodeTransformer):
    """value.sum -> _judge_attribute(value, "sum"), and the same for imported names."""

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr not in FUNCTIONS or not isinstance(node.ctx, ast.Load):
            return node
        name = ast.Constant(node.attr)
        call = ast.Call(ast.Name("_judge_attribute", ast.Load()), [node.value, name], [])
        return ast.copy_location(call, node)

    def visit_ImportFrom(self, node):
        names = [n.asname or n.name for n in node.names if n.name in FUNCTIONS]
        assigns = [ast.parse(f"{name} = _judge_function({name})").body[0] for name in names]
        return [node, *(ast.copy_location(a, node) for a in assigns)]


class Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, *, _optimize=-1):
        tree = ast.fix_missing_locations(Rewrite().visit(ast.parse(data)))
        return compile(tree, path, "exec", dont_inherit=True)

    def get_code(self, fullname):  # never NumPy's own .pyc
        return self.source_to_code(self.get_data(self.path), self.path)


class Module(pytest.Module):
    """A test module, rewritten."""

    def _getobj(self):  # where pytest imports it
        judge = next(p for p in self.config.pluginmanager.get_plugins() if isinstance(p, Judge))
        if self.path not in judge.modules:
            judge.modules[self.path] = load(judge, self.path)
        return judge.modules[self.path]


def load(judge, path):
    name = ".".join(["numpy", *path.relative_to(Path(np.__file__).parent).with_suffix("").parts])
    loader = Loader(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    module.__builtins__ = {
        **vars(__import__("builtins")),
        "_judge_attribute": judge.attribute,
        "_judge_function": judge.function,
        "getattr": lambda value, name, *default: (
            judge.attribute(value, name)
            if name in FUNCTIONS and hasattr(value, name)
            else getattr(value, name, *default)
        ),
    }
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def run_tests(client, parts):
    """The results by test. Of one that fails, "numpy" and "warnings" say what those modes made."""
    for name in ("", ".extra", ".extra.numpy", ".strategies"):
        sys.modules[f"hypothesis{name}"] = mock.MagicMock()  # its tests are not of reductions
    os.environ["NUMPY_EXPERIMENTAL_DTYPE_API"] = "1"  # as NumPy's own conftest.py does
    judge = Judge(client, parts)
    paths = [path_of(part) for part in parts]
    options = ["-p", "no:terminal", "-p", "no:cacheprovider", "--noconftest", "-c", os.devnull]
    options += ["-p", "no:hypothesispytest"]  # it would look for the hypothesis that is not there
    options += ["-m", "not slow"]  # as np.test() leaves the slow ones out
    arguments = [*options, f"--rootdir={Path(np.__file__).parent}", *map(str, paths)]

    def run(mode):
        judge.mode, judge.results = mode, {}
        code = pytest.main(arguments, plugins=[judge])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            sys.exit(f"pytest ended with {code!r}")
        return judge.results

    results = run("client")
    judge.only = {name for name in results if results[name]["outcome"] == "failed"}
    if judge.only:
        for mode in ("numpy", "warnings"):
            for name, again in run(mode).items():
                results[name][mode] = again["outcome"]
    return results


def path_of(part):
    folder = Path(np.__file__).parent
    path = folder / f"_{part}"
    return path if path.exists() else folder / part


def applies(result):
    functions = set(result["calls"])
    return bool(functions - {"any", "all"} or functions and not result["refusals"])


def verdict(results, exceptions):
    """What is wrong, in lines, and the counts for expected.json."""
    problems = []
    tests = collections.defaultdict(lambda: dict.fromkeys(("tests", "apply", "pass"), 0))
    excepted, left = collections.Counter(), collections.Counter()
    for name, result in results.items():
        counts = tests[name.partition("::")[0]]
        counts["tests"] += 1
        if result.get("numpy", "passed") != "passed":
            left["NumPy alone fails it too"] += 1
            continue
        if result["outcome"] == "skipped":
            left["NumPy skips it"] += 1
            continue
        counts["apply"] += applies(result)
        counts["pass"] += applies(result) and result["outcome"] == "passed"
        reasons = [e for e in exceptions if any(fnmatch.fnmatchcase(name, t) for t in e["tests"])]
        if result["outcome"] == "failed":
            if not reasons:
                problems.append(f"{name} fails and is no exception:\n{result['failure']}")
            elif result["warnings"] != ("passed" if reasons[0]["warnings"] else "failed"):
                problems.append(f"{name} {result['warnings']} with NumPy's warnings")
            excepted.update(e["reason"] for e in reasons[:1])
        elif reasons:
            problems.append(f"{name} passes, yet is an exception: {reasons[0]['reason']}")
        if not applies(result):
            refusals = sorted(set(result["refusals"])) or ["calls none of the functions"]
            left[", ".join(refusals)] += 1
    return problems, {"parts": tests, "exceptions": excepted, "left": left}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true")
    action.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    missing = [part for part in expected["parts"] if not path_of(part).exists()]
    if missing:
        print(f"skipped: NumPy {np.__version__} ships no {missing[0]}")
        return SKIPPED
    with running_server() as target, warpfold.connect(target, timeout=60) as client:
        results = run_tests(client, expected["parts"])
    version = [int(number) for number in np.__version__.split(".")[:2]]
    exceptions = [e for e in expected["exceptions"] if e.get("since", [0]) <= version]
    problems, counts = verdict(results, exceptions)
    counts = {
        "parts": {part: counts["parts"][part] for part in expected["parts"]},
        "exceptions": dict(sorted(counts["exceptions"].items())),
        "left": dict(sorted(counts["left"].items())),
    }
    recorded = expected["runs"].get(np.__version__)
    if write:
        expected["runs"][np.__version__] = counts
        expected["runs"] = dict(sorted(expected["runs"].items()))
        EXPECTED.write_text(json.dumps(expected, indent=2) + "\n", encoding="utf-8")
        REPORT.write_text(report(expected), encoding="utf-8")
    elif recorded is None:
        print(f"NumPy {np.__version__} is not in expected.json: its counts are not compared")
    elif recorded != counts:
        problems.append(f"the counts are\n{json.dumps(counts, indent=2)}\nnot as in expected.json")
    elif REPORT.read_text(encoding="utf-8") != report(expected):
        problems.append(f"{REPORT} is not what expected.json says")
    print(*problems, sep="\n")
    print(f"NumPy {np.__version__}: {summary(counts)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
