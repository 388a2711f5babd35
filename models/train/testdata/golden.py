"""Golden values of optimisers for optimizer_test.go, by PyTorch.

    python golden.py > golden.json

A network of 3 inputs, 4 hidden units of tanh and 2 outputs learns by the mean
squared error. Its parameters, inputs and targets are waves of sines, which Go
computes too. Listed are all parameters in the order of the network, after so many
steps in float64: float32 follows them to a few units of its last place.
"""
import json
import platform
import sys

import torch

SHAPES = [[3, 4], [4], [4, 2], [2]]
CASES = [  # as train.Optimizer has it, then learning rate and steps
    ({"name": ""}, 0.05, 7),
    ({"name": "adam", "weight_decay": 0.3}, 0.05, 7),
    ({"name": "adam", "weight_decay": 1e-5}, 0.01, 3),
    ({"name": "sgd"}, 0.2, 5),
    ({"name": "sgd", "weight_decay": 0.1}, 0.2, 5),
    ({"name": "sgd", "momentum": 0.9}, 0.1, 7),
    ({"name": "sgd", "momentum": 0.8, "weight_decay": 0.2, "average": 0.9}, 0.1, 7),  # which changes no step
]


def wave(n, frequency, phase):
    return torch.sin(frequency * torch.arange(n, dtype=torch.float64) + phase)


def run(optimizer, rate, steps):
    params, at = [], 0
    for shape in SHAPES:
        size = torch.Size(shape).numel()
        params.append(wave(size, 0.7, 0.7 * at).reshape(shape).requires_grad_())
        at += size
    x, target = wave(5 * 3, 1.3, 0.5).reshape(5, 3), wave(5 * 2, 2.1, 0.2).reshape(5, 2)
    kind = torch.optim.SGD if optimizer["name"] == "sgd" else torch.optim.Adam
    settings = {k: v for k, v in optimizer.items() if k not in ("name", "average")}
    o = kind(params, lr=rate, **settings)
    for _ in range(steps):
        o.zero_grad()
        y = torch.tanh(x @ params[0] + params[1]) @ params[2] + params[3]
        ((y - target) ** 2).mean().backward()
        o.step()
    return {
        "optimizer": optimizer, "rate": rate, "steps": steps,
        "params": torch.cat([p.detach().reshape(-1) for p in params]).tolist(),
    }


json.dump({
    "versions": {"python": platform.python_version(), "torch": torch.__version__},
    "cases": [run(*case) for case in CASES],
}, sys.stdout, indent=1)
print()
