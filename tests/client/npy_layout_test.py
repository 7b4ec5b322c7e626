#!/usr/bin/env python3
"""`warpfold` of big-endian and Fortran-order .npy files has NumPy's answers, by the real server.

usage: WARPFOLD_SERVER=... WARPFOLD_CLI=... npy_layout_test.py [unittest's arguments]
"""

import io
import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "client_python"))

from running_server import running_server  # noqa: E402

MIB = 1 << 20
PEAK_MIB_MAX = 256
SEED = 20261125
DTYPES = ("f2", "f4", "f8", "i2", "i4", "i8", "u4", "u1")
ORDERS = ("<", ">")


def warpfold(*arguments, data=None):
    """(exit code, stdout, stderr, peak MiB); `data` are the pieces that its stdin, a pipe, has."""
    command = [os.environ["WARPFOLD_CLI"], *map(str, arguments)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        stdin = subprocess.DEVNULL if data is None else subprocess.PIPE
        with subprocess.Popen(command, stdin=stdin, stdout=out, stderr=err) as client:
            if data is not None:
                try:
                    for piece in data:
                        client.stdin.write(piece)
                    client.stdin.close()
                except BrokenPipeError:
                    pass
            _, status, usage = os.wait4(client.pid, 0)
            client.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
        return client.returncode, *texts, usage.ru_maxrss / 1024


def npy_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def results(text):
    """{op: the array} of one file's JSON."""
    return {
        result["op"]: np.array(result["values"], dtype="f8").reshape(result["shape"])
        for result in json.loads(text)["results"]
    }


class Layouts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.target = cls.enterClassContext(running_server())
        print("seed", SEED)

    def arrays(self):
        random = np.random.default_rng(SEED)
        for name, order, fortran in itertools.product(DTYPES, ORDERS, (False, True)):
            values = random.integers(0, 9, (3, 4, 5))  # exact in every dtype, with ties
            array = values.astype(np.dtype(name).newbyteorder(order))
            yield np.asfortranarray(array) if fortran else array

    def ways(self, array):
        """Arguments and stdin for each way in which the array may come."""
        path = self.folder / "a.npy"
        np.save(path, array)
        archive = self.folder / "a.npz"
        np.savez(archive, other=np.ones(3), a=array)
        yield "a file", (path,), None
        yield "a member", (archive, "--tensor", "a"), None
        yield "a pipe", ("-",), [npy_bytes(array)]

    def reduce(self, files, data, *arguments):
        code, out, err, _ = warpfold(
            "reduce", *files, "--json", "--server", self.target, *arguments, data=data
        )
        self.assertEqual((0, ""), (code, err))
        self.assertEqual([3, 4, 5], json.loads(out)["shape"])
        return results(out)

    def check(self, array, axes, keepdims, ops):
        axis = tuple(axes) or None
        flags = ("--op", ",".join(ops), *(["--keepdims"] if keepdims else []))
        if axes:
            flags += ("--axis=" + ",".join(map(str, axes)),)
        plain = np.ascontiguousarray(array).astype("f8")
        for way, files, data in self.ways(array):
            with self.subTest(way, dtype=array.dtype.str, axes=axes, keepdims=keepdims):
                got = self.reduce(files, data, *flags)
                for op in ops:
                    one = axis[0] if op.startswith("arg") and axis else axis
                    wanted = getattr(np, op)(plain, axis=one, keepdims=keepdims)
                    np.testing.assert_array_equal(got[op], wanted)
                    self.assertEqual(got[op].shape, np.shape(wanted))

    def test_each_layout_has_numpys_answers(self):
        for array in self.arrays():
            self.check(array, (1,), False, ("sum", "max", "argmax", "argmin"))

    def test_every_set_of_axes_has_them(self):
        array = np.asfortranarray(next(self.arrays()).astype(">f4"))
        for n in range(4):
            for axes in itertools.combinations((0, -2, 2), n):
                self.check(array, axes, n == 2, ("sum", "min"))
        for axis in range(-3, 3):
            self.check(array, (axis,), axis % 2 == 0, ("argmax", "argmin"))

    def test_describe_tells_the_array(self):
        for array in self.arrays():
            plain = np.ascontiguousarray(array).astype("f8")
            for way, files, data in self.ways(array):
                if way == "a member":
                    files = files[:1]
                with self.subTest(way, dtype=array.dtype.str):
                    code, out, err, _ = warpfold(
                        "describe", *files, "--json", "--server", self.target, data=data
                    )
                    self.assertEqual((0, ""), (code, err))
                    tensor = json.loads(out)["tensors"][-1]
                    self.assertEqual([3, 4, 5], tensor["shape"])
                    self.assertEqual(
                        [plain.sum(), plain.min(), plain.max()],
                        [tensor[key] for key in ("sum", "min", "max")],
                    )

    def test_what_c_order_alone_can_tell_is_refused(self):
        array = np.asfortranarray(np.ones((2, 3, 4), dtype="f4"))
        for way, files, data in self.ways(array):
            for axes in ((), ("--axis", "0,2")):
                with self.subTest(way, axes=axes):
                    code, out, err, _ = warpfold(
                        *("reduce", *files, "--op", "sum,argmax", *axes, "--server", self.target),
                        data=data,
                    )
                    self.assertEqual((2, ""), (code, out))
                    self.assertIn(": op: argmax over several axes needs C order", err)
        flat = np.asfortranarray(np.float32([[[3, 1]], [[5, 9]]])[:, :, :1])  # one long axis
        np.save(self.folder / "flat.npy", flat)
        code, out, err, _ = warpfold(
            "reduce", self.folder / "flat.npy", "--op", "argmax", "--server", self.target
        )
        self.assertEqual((0, "1\n", ""), (code, out, err))

    def test_refusals_name_the_array_as_it_is(self):
        array = np.asfortranarray(np.zeros((2, 3, 4), dtype=">i4"))
        array[1, 0, :] = 2**31 - 1  # of the products along the last axis element 3 does not fit
        for way, files, data in self.ways(array):
            with self.subTest(way):
                code, _, err, _ = warpfold(
                    *("reduce", *files, "--op", "prod", "--axis", "2", "--server", self.target),
                    data=data,
                )
                self.assertEqual(2, code)
                self.assertIn("output element 3", err)
                code, _, err, _ = warpfold(
                    *("reduce", *files, "--op", "sum", "--axis", "3", "--server", self.target),
                    data=data,
                )
                self.assertEqual(2, code)
                self.assertIn("axes: 3 is out of range", err)

    def test_too_few_bytes_and_too_many_are_refused(self):
        whole = npy_bytes(np.asfortranarray(np.ones((2, 3), dtype=">f4")))
        for data in (whole[:-1], whole + b"x"):
            path = self.folder / "wrong.npy"
            path.write_bytes(data)
            for files, stdin in ((path, None), ("-", [data])):
                code, out, _, _ = warpfold(
                    "describe", files, "--server", self.target, data=stdin
                )
                self.assertEqual((2, ""), (code, out))

    def test_diff_says_what_it_cannot_compare(self):
        path = self.folder / "a.npy"
        for array, word in (
            (np.asfortranarray(np.ones((2, 3))), "fortran_order: diff compares arrays in C order"),
            (np.ones((2, 3), dtype=">f4"), "descr: diff compares little-endian arrays"),
        ):
            np.save(path, array)
            code, out, err, _ = warpfold("diff", path, path, "--server", self.target)
            self.assertEqual((2, ""), (code, out))
            self.assertIn(word, err)

    def test_blocks_bound_the_memory(self):
        shape = (8, 32 * MIB // 4)  # 256 MiB, of which this process holds 1: a fork counts its own
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": ">f4", "fortran_order": True, "shape": shape}
        )
        pieces = [header.getvalue(), *([np.ones(MIB // 4, dtype=">f4").tobytes()] * 256)]
        code, out, err, peak_mib = warpfold(
            "describe", "-", "--json", "--server", self.target, data=pieces
        )
        self.assertEqual((0, ""), (code, err))
        (tensor,) = json.loads(out)["tensors"]
        self.assertEqual(
            [list(shape), 1, 1, 64 * MIB],
            [tensor[key] for key in ("shape", "max", "min", "sum")],
        )
        print(f"256 MiB through a pipe, peak {peak_mib:.0f} MiB")
        self.assertLess(peak_mib, PEAK_MIB_MAX)


if __name__ == "__main__":
    unittest.main()
