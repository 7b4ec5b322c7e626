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
WIDTHS = ("u1", "f2", "i4", "f8")
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


def byte_float(code, mantissa_bits):
    """The number of a float of 8 bits: E4M3 without infinities, or E5M2."""
    exponent, mantissa = divmod(code & 0x7F, 1 << mantissa_bits)
    bias = 15 if mantissa_bits == 2 else 7
    sign = -1.0 if code & 0x80 else 1.0
    if mantissa_bits == 2 and exponent == 31:
        return sign * np.inf if mantissa == 0 else np.nan
    unit = 2.0 ** (max(exponent, 1) - bias - mantissa_bits)
    return sign * (mantissa + (exponent > 0) * 2**mantissa_bits) * unit


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

    def arrays(self, names=DTYPES):
        random = np.random.default_rng(SEED)
        for name, order, fortran in itertools.product(names, ORDERS, (False, True)):
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

    def test_bytes_of_a_dtype_that_numpy_does_not_have_are_what_dtype_says(self):
        codes = np.array([c for c in range(256) if c & 0x7F != 0x7F], np.uint8).reshape(2, 127)
        for dtype, mantissa_bits in (("f8_e4m3", 3), ("f8_e5m2", 2)):
            values = np.array([[byte_float(int(c), mantissa_bits) for c in row] for row in codes])
            path = self.folder / "codes.npy"
            np.save(path, np.asfortranarray(codes.view("V1")))
            got = self.answers(path, "--dtype", dtype, "--op", "min,max,nan_count", "--axis", "1")
            np.testing.assert_array_equal(got["min"], np.min(values, 1))
            np.testing.assert_array_equal(got["max"], np.max(values, 1))
            np.testing.assert_array_equal(got["nan_count"], np.isnan(values).sum(1))
            some = np.ascontiguousarray(codes[:, :120])  # finite in both
            np.save(path, some.view("V1"))
            got = self.answers(path, "--dtype", dtype, "--op", "sum,max_abs", "--axis", "0")
            # The shortest digits of a float32.
            sums, sizes = values[:, :120].sum(0), np.abs(values[:, :120]).max(0)
            np.testing.assert_array_equal(got["sum"].astype("f4"), sums)
            np.testing.assert_array_equal(got["max_abs"].astype("f4"), sizes)

    def answers(self, *arguments):
        code, out, err, _ = warpfold("reduce", "--json", "--server", self.target, *arguments)
        self.assertEqual((0, ""), (code, err))
        return results(out)

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

    def check_place(self, array, axes, *ways):
        """The first of equal elements in C order, along several axes, as NumPy has it."""
        reduced = axes or tuple(range(array.ndim))
        kept = tuple(d for d in range(array.ndim) if d not in reduced)
        plain = np.ascontiguousarray(array.transpose(*kept, *reduced))
        rows = plain.reshape(*plain.shape[: len(kept)], -1)
        flags = ("--axis", ",".join(map(str, axes))) if axes else ()
        for way, files, data in self.ways(array):
            if way not in ways:
                continue
            with self.subTest(way, dtype=array.dtype.str, shape=array.shape, axes=axes):
                code, out, err, _ = warpfold(
                    *("reduce", *files, "--json", "--server", self.target),
                    *("--op", "argmax,argmin,sum", *flags),
                    data=data,
                )
                self.assertEqual((0, ""), (code, err))
                got = results(out)
                for op in ("argmax", "argmin"):
                    np.testing.assert_array_equal(got[op], getattr(rows, op)(axis=-1))
                np.testing.assert_array_equal(got["sum"], rows.sum(axis=-1))

    def test_places_along_several_axes_are_those_of_c_order(self):
        for array in self.arrays(WIDTHS):
            if array.flags.f_contiguous:  # with ties; axis=None is all
                for axes in (), (0, 2), (0, 1), (1, 2):
                    self.check_place(array, axes, "a file", "a member")
        last = np.asfortranarray(np.zeros((3, 4), dtype="f4"))
        last[2, 0] = last[0, 3] = 1  # the first in C order is the last in Fortran order
        self.check_place(last, (), "a file")
        last[2, 0] = last[0, 3] = np.nan
        np.save(self.folder / "nan.npy", last)
        code, out, err, _ = warpfold(
            "reduce", self.folder / "nan.npy", "--op", "argmin", "--server", self.target
        )
        self.assertEqual((0, f"{last.argmin()}\n", ""), (code, out, err))

    def test_places_in_arrays_of_several_blocks_are_those_of_c_order(self):
        random = np.random.default_rng(SEED)
        array = np.asfortranarray(random.integers(0, 1 << 20, (3, 1000, 1500)).astype(">f8"))
        for axes in (), (1, 2), (0, 2):  # 36 MB
            self.check_place(array, axes, "a file")

    def test_what_c_order_alone_can_tell_is_refused_of_a_pipe(self):
        array = np.asfortranarray(np.ones((2, 3, 4), dtype="f4"))
        for axes in ((), ("--axis", "0,2")):
            with self.subTest(axes=axes):
                code, out, err, _ = warpfold(
                    *("reduce", "-", "--op", "sum,argmax", *axes, "--server", self.target),
                    data=[npy_bytes(array)],
                )
                self.assertEqual((2, ""), (code, out))
                self.assertIn(": op: argmax over several axes needs C order", err)
                self.assertIn("read it from a file instead of a pipe", err)
        flat = np.asfortranarray(np.float32([[[3, 1]], [[5, 9]]])[:, :, :1])  # one long axis
        code, out, err, _ = warpfold(
            "reduce", "-", "--op", "argmax", "--server", self.target, data=[npy_bytes(flat)]
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

    def diff(self, a, b, *arguments, data=None):
        """(exit code, the report of --json) of two files."""
        code, out, err, _ = warpfold(
            "diff", a, b, "--json", "--server", self.target, *arguments, data=data
        )
        self.assertEqual("", err)
        return code, json.loads(out)

    def layouts(self, array):
        """The same elements in each layout."""
        for order, fortran in itertools.product(ORDERS, (False, True)):
            same = array.astype(array.dtype.newbyteorder(order))
            yield np.asfortranarray(same) if fortran else same

    def test_diff_finds_equal_elements_equal_in_any_layout(self):
        random = np.random.default_rng(SEED)
        for name in WIDTHS:
            array = random.integers(0, 9, (3, 4, 5)).astype(name)
            for a, b in itertools.product(self.layouts(array), repeat=2):
                np.save(self.folder / "first.npy", a)
                for way, files, data in self.ways(b):
                    if way == "a member":
                        continue
                    with self.subTest(way, a=a.dtype.str, b=b.dtype.str, flags=(a.flags, b.flags)):
                        code, report = self.diff(self.folder / "first.npy", files[0], data=data)
                        self.assertEqual((0, "identical"), (code, report["tensors"][0]["change"]))

    def check_difference(self, a, b):
        """Of any two layouts of float arrays, against NumPy."""
        distance = np.abs(a.astype("f8") - b.astype("f8"))
        wanted = {
            "changed": np.count_nonzero(distance),
            "max_abs": distance.max(),
            "max_at": list(map(int, np.unravel_index(distance.argmax(), distance.shape))),
        }
        lengths = set()
        for left, right in itertools.product(self.layouts(a), self.layouts(b)):
            np.savez(self.folder / "a.npz", w=left)
            np.savez(self.folder / "b.npz", w=right)
            with self.subTest(a=left.flags, b=right.flags):
                code, report = self.diff(self.folder / "a.npz", self.folder / "b.npz")
                (tensor,) = report["tensors"]
                got = tensor["difference"]
                self.assertEqual((1, "values"), (code, tensor["change"]))
                self.assertEqual(wanted, {key: got[key] for key in wanted})
                lengths.add(got["relative_l2"])
                self.assertEqual((a.min(), b.max()), (tensor["a"]["min"], tensor["b"]["max"]))
        (length,) = lengths  # the same bits, whatever the layout
        self.assertAlmostEqual(
            np.linalg.norm(distance.ravel()) / np.linalg.norm(a.ravel().astype("f8")), length
        )

    def test_diff_compares_by_place_and_not_by_byte(self):
        random = np.random.default_rng(SEED)
        a = random.integers(0, 9, (3, 4, 5)).astype("f4")
        b = a.copy()
        b[0, 3, 4] += 2  # of these two the first in C order is the second in Fortran order
        b[1, 0, 0] -= 2
        b[2, 2, 2] += 1
        self.check_difference(a, b)
        self.check_difference(a.reshape(1, 12, 5)[:, :, 1:], b.reshape(1, 12, 5)[:, :, 1:])

    def test_diff_compares_arrays_of_several_blocks(self):
        for shape in (3, 1000, 1500), (2, 1500, 1500), (1500, 1500, 2):  # of 16 MiB, cut in rows
            a = np.arange(np.prod(shape), dtype="f8").reshape(shape)
            b = a.copy()
            b[1, 999, 1] += 0.5
            b[-1, -1, -1] += 7
            with self.subTest(shape=shape):
                np.save(self.folder / "a.npy", a)
                np.save(self.folder / "b.npy", np.asfortranarray(b))
                code, report = self.diff(self.folder / "a.npy", self.folder / "b.npy")
                got = report["tensors"][0]["difference"]
                last = [n - 1 for n in shape]
                self.assertEqual(
                    (1, 2, 7, last), (code, *(got[k] for k in ("changed", "max_abs", "max_at")))
                )

    def test_diff_of_other_shapes_and_of_nothing(self):
        array = np.asfortranarray(np.ones((2, 3), dtype=">f4"))
        a, b = self.folder / "a.npy", self.folder / "b.npy"
        np.save(a, array)
        np.save(b, array.T)  # the same bytes, C order
        code, report = self.diff(a, b)
        self.assertEqual((1, "shape"), (code, report["tensors"][0]["change"]))
        for shape in (0, 3), (3, 0):
            np.save(a, np.ones(shape, dtype=">f4"))
            np.save(b, np.asfortranarray(np.ones(shape, dtype="f4")))
            code, report = self.diff(a, b)
            self.assertEqual((0, "identical"), (code, report["tensors"][0]["change"]))

    def test_diff_refuses_what_is_broken(self):
        whole = npy_bytes(np.asfortranarray(np.ones((2, 3), dtype=">f4")))
        good, bad = self.folder / "good.npy", self.folder / "bad.npy"
        good.write_bytes(whole)
        for data in (whole[:-1], whole + b"x", npy_bytes(np.asfortranarray(np.ones((2, 3), "c8")))):
            bad.write_bytes(data)
            code, out, err, _ = warpfold("diff", good, bad, "--server", self.target)
            self.assertEqual((2, ""), (code, out))
            self.assertIn("bad.npy: ", err)

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
