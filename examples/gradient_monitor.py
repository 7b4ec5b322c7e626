#!/usr/bin/env python3
"""Watches the gradients of a training loop: a line for every step, a warning when they go wrong.

usage: gradient_monitor.py [--server HOST:PORT] [--steps N] [--device cuda]

main() trains a small PyTorch model and blows it up half-way; GradientMonitor is what a training
loop of your own takes. All statistics of a gradient come from one pass over it on the server. A
gradient is sent from the memory that it has. One on a GPU that the server reaches, too
(--max-cuda-memory-bytes), is reduced where it lies; else it is copied to the host.
"""

import argparse
import math

import warpfold

OPS = ["l2_norm", "min", "max", "nan_count", "inf_count"]


class GradientMonitor:
    """Call `observe` after backward() and before the optimizer's step."""

    def __init__(self, client, *, norm_max=1e3):
        self._client = client
        self._norm_max = norm_max

    def observe(self, step, gradients):
        """The findings of a step, by the name of the gradient; prints the norm of all together."""
        squares = 0.0
        findings = {}
        for name, gradient in gradients:
            found = self._client.reduce(gradient, OPS, request_id=f"step {step} {name}")
            norm = float(found["l2_norm"])
            squares += norm * norm
            bad = int(found["nan_count"] + found["inf_count"])
            if bad:
                findings[name] = f"{bad} elements are NaN or infinite"
            elif norm > self._norm_max:
                findings[name] = f"norm {norm:.3g}, from {found['min']:.3g} to {found['max']:.3g}"
        print(f"step {step}: gradient norm {math.sqrt(squares):.4g}")
        for name, finding in findings.items():
            print(f"  {name}: {finding}")
        return findings


def main():
    parser = argparse.ArgumentParser(description="Watches the gradients of a training loop.")
    parser.add_argument("--server", default="localhost:50051", metavar="HOST:PORT")
    parser.add_argument("--steps", type=int, default=8, metavar="N")
    parser.add_argument("--device", default="cpu", help="PyTorch's name of it, such as cuda")
    arguments = parser.parse_args()

    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    model.to(arguments.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(512, 64, device=arguments.device)
    y = x[:, :1] * 3
    with warpfold.connect(arguments.server) as client:
        monitor = GradientMonitor(client)
        for step in range(arguments.steps):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            if step >= arguments.steps // 2:
                loss = loss * 1e30  # what a wrong loss scale does
            loss.backward()
            found = monitor.observe(
                step, ((name, p.grad) for name, p in model.named_parameters())
            )
            if not found:  # a bad step is better left out
                optimizer.step()


if __name__ == "__main__":
    main()
