#!/usr/bin/env python3
"""The Python client's arrays on a real GPU, reduced where they lie by the real server.

PyTorch allocates; CuPy too where it is installed. Skips, and says so, where there is no GPU.

From the bundle:    bundle/tests/gpu/python_peer_test.py
From a build tree:  with $WARPFOLD_SERVER, the server's binary
"""

import contextlib
import importlib.util
import logging
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("client/python", "tests/client_python"):
    sys.path.insert(0, str(ROOT / folder))
os.environ.setdefault("WARPFOLD_SERVER", str(ROOT / "bin" / "warpfold-server"))
SKIPPED = 77  # to CTest
FLAGS = ["--backend=cuda", "--max-cuda-memory-bytes=16GiB", "--shared-memory-prefix=/warpfold-"]
OPS = ["sum", "min", "max", "mean", "std", "argmax", "nan_count"]

try:
    import numpy as np
    import torch

    import warpfold

    WHY = "" if torch.cuda.is_available() else "no GPU answers"
except ImportError as error:
    WHY = str(error)


class Copies(logging.Handler):
    """What the client says of arrays that it copied to the host."""

    def __init__(self):
        super().__init__()
        self.told = []

    def emit(self, record):
        self.told.append(record.getMessage())


class ByDlpack:
    """A tensor of a library that has no `__cuda_array_interface__`."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack__(self, **request):
        return self._tensor.__dlpack__(**request)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()


class PythonPeer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from running_server import running_server

        cls.running = contextlib.ExitStack()
        cls.target = cls.running.enter_context(running_server(*FLAGS))
        cls.client = cls.running.enter_context(warpfold.connect(cls.target))
        cls.copies = Copies()
        logging.getLogger("warpfold").addHandler(cls.copies)

    @classmethod
    def tearDownClass(cls):
        cls.running.close()

    def setUp(self):
        torch.manual_seed(20261121)
        self.copies.told.clear()

    def assert_same(self, x, axis=None):
        """The bits of bytes that were sent, and no copy."""
        ours = self.client.reduce(x, OPS, axis)
        raw = x.contiguous().cpu()
        if x.dtype is torch.bfloat16:
            import ml_dtypes

            host = raw.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        else:
            host = raw.numpy()
        sent = self.client.reduce(host, OPS, axis)
        for op in OPS:
            self.assertEqual(ours[op].tobytes(), sent[op].tobytes(), op)
        self.assertEqual(self.copies.told, [])

    def run_python(self, *arguments, **variables):
        path = {"PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, **path, **variables})

    def test_every_dtype_is_reduced_where_it_lies(self):
        for dtype in (torch.float32, torch.float64, torch.float16, torch.int64, torch.int32,
                      torch.int16, torch.int8, torch.uint8, torch.bool):
            with self.subTest(dtype=dtype):
                self.assert_same((torch.randn(1000, 1031, device="cuda") * 50).to(dtype))

    def test_bfloat16_too(self):
        if importlib.util.find_spec("ml_dtypes") is None:
            self.skipTest("no ml_dtypes")
        self.assert_same(torch.randn(1000, 1031, device="cuda").to(torch.bfloat16))

    def test_axes_and_large_tensors(self):
        x = torch.randn(3000, 4099, device="cuda")
        for axis in (None, 0, 1):
            self.assert_same(x, axis)
        self.assert_same(torch.randn(1 << 28, device="cuda"))

    def test_views_lie_somewhere_in_a_larger_allocation(self):
        pool = torch.randn(1 << 22, device="cuda")
        for begin in (0, 1, 1023, 100_001):
            self.assert_same(pool[begin : begin + (1 << 20)])

    def test_what_is_not_contiguous_is_made_so(self):
        self.assert_same(torch.randn(1000, 1031, device="cuda").T, 0)
        self.assert_same(torch.randn(2000, 1031, device="cuda")[::2], 1)

    def test_work_of_another_stream_is_waited_for(self):
        stream = torch.cuda.Stream()
        a = torch.randn(4096, 4096, device="cuda")
        for _ in range(3):
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                x = torch.zeros(1 << 22, device="cuda")
                for _ in range(8):
                    a = a @ a
                    a = a / a.norm()
                x += 1
                total = self.client.sum(x)
            self.assertEqual(total, 1 << 22)

    def test_what_only_dlpack_exports_is_reduced_where_it_lies(self):
        for dtype in (torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool):
            with self.subTest(dtype=dtype):
                x = (torch.randn(1000, 1031, device="cuda") * 50).to(dtype)
                for op in OPS:
                    ours = self.client.reduce(ByDlpack(x), [op])[op]
                    self.assertEqual(ours.tobytes(), self.client.reduce(x, [op])[op].tobytes(), op)
        self.assertEqual(self.copies.told, [])

    def test_dlpacks_consumer_waits_for_another_stream(self):
        stream = torch.cuda.Stream()
        a = torch.randn(4096, 4096, device="cuda")
        for _ in range(3):
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                x = torch.zeros(1 << 22, device="cuda")
                for _ in range(8):
                    a = a @ a
                    a = a / a.norm()
                x += 1
                total = self.client.sum(ByDlpack(x))
            self.assertEqual(total, 1 << 22)

    def test_parameters_and_tensors_that_require_gradients(self):
        layer = torch.nn.Linear(1031, 1000, device="cuda")
        weight = layer.weight.detach()
        self.assertEqual(self.client.max(layer.weight), weight.max().item())
        self.assertEqual(self.client.max(weight.clone().requires_grad_()), weight.max().item())
        described = self.client.describe(layer.state_dict())
        self.assertEqual(set(described), {"weight", "bias"})
        self.assertEqual(described["weight"]["max"], weight.max().item())
        self.assertEqual(self.copies.told, [])

    def test_float8_is_the_sum_of_its_float32_values(self):
        if importlib.util.find_spec("ml_dtypes") is None:
            self.skipTest("no ml_dtypes")
        for name in ("float8_e4m3fn", "float8_e5m2"):
            if not hasattr(torch, name):
                self.skipTest("this torch has no float8")
            with self.subTest(name=name):
                x = (torch.randn(1000, 1031, device="cuda") * 50).to(getattr(torch, name))
                wide = x.to(torch.float32)
                for axis in (None, 0, 1):
                    for op in ("sum", "mean", "std", "argmax"):
                        ours = self.client.reduce(x, [op], axis)[op]
                        same = self.client.reduce(wide, [op], axis)[op]
                        self.assertEqual(ours.tobytes(), same.tobytes(), (op, axis))
                    largest = self.client.max(x, axis).astype(np.float32)
                    self.assertEqual(largest.tobytes(), self.client.max(wide, axis).tobytes())
        self.assertEqual(self.copies.told, [])

    def test_shared_tensors_show_what_is_written_later(self):
        x = torch.ones(1 << 20, device="cuda")
        with self.client.share(x) as shared:
            self.assertEqual(np.sum(shared), 1 << 20)
            x[7] = 101
            self.assertEqual(np.sum(shared), (1 << 20) + 100)
            self.assertEqual(self.client.sum(x[:1000]), 1100)

    def test_memory_that_was_freed_and_taken_again_is_the_new_one(self):
        for value in range(4):
            x = torch.full((1 << 24,), float(value), device="cuda")
            self.assertEqual(self.client.max(x), value)
            del x
            torch.cuda.empty_cache()
        self.assertEqual(self.copies.told, [])

    def test_asyncio_does_the_same(self):
        import asyncio

        import warpfold.aio

        async def use():
            async with await warpfold.aio.connect(self.target) as client:
                x = torch.ones(1 << 20, device="cuda")
                async with await client.share(x) as shared:
                    sums = await asyncio.gather(*(client.sum(shared) for _ in range(8)))
                return {*sums, await client.sum(x)}

        self.assertEqual(asyncio.run(use()), {1 << 20})
        self.assertEqual(self.copies.told, [])

    def test_memory_that_has_no_handle_is_copied_and_said_to_be(self):
        program = (
            "import sys, torch, warpfold\n"
            "x = torch.ones(1 << 20, device='cuda')\n"
            "print(float(warpfold.connect(sys.argv[1]).sum(x)))\n"
        )
        for setting in ("expandable_segments:True", "backend:cudaMallocAsync"):
            with self.subTest(setting=setting):
                done = self.run_python(
                    "-c", program, self.target,
                    PYTORCH_CUDA_ALLOC_CONF=setting, PYTORCH_ALLOC_CONF=setting)
                self.assertEqual(done.stdout, "1048576.0\n", done.stderr)
                self.assertIn("arrays on a GPU are copied to the host", done.stderr)
                self.assertIn("expandable_segments", done.stderr)

    def test_a_training_loops_gradients_are_watched_where_they_lie(self):
        done = self.run_python(
            str(ROOT / "examples" / "gradient_monitor.py"), "--server", self.target,
            "--steps", "4", "--device", "cuda")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("gradient norm"), 4)
        self.assertNotIn("copied", done.stderr)

    def test_cupys_arrays_too(self):
        try:
            import cupy
        except ImportError as error:
            self.skipTest(str(error))
        x = cupy.random.randn(1000, 1031)
        self.assertEqual(self.client.max(x), float(x.max()))
        self.assertEqual(self.client.max(x.T[::2], 0).tobytes(), x.T[::2].max(0).get().tobytes())
        self.assertEqual(self.copies.told, [])


if __name__ == "__main__":
    if WHY:
        print(f"skipped: {WHY}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
