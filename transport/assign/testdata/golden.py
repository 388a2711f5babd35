"""Writes golden.json: optimal totals of scipy.optimize.linear_sum_assignment.

    python golden.py > golden.json

The costs come from a linear congruential generator that the test has too.
"""
import json
import platform

import numpy as np
import scipy
from scipy.optimize import linear_sum_assignment


def uniforms(seed, count):
    """count multiples of 2⁻²⁴ in [0, 1): Knuth's MMIX generator, upper 24 bits."""
    state, values = seed, np.empty(count)
    for i in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        values[i] = (state >> 40) / 2**24
    return values


def costs(kind, seed, n):
    if kind == "uniform":
        return uniforms(seed, n * n).reshape(n, n)
    if kind == "signed":
        return uniforms(seed, n * n).reshape(n, n) - 0.5
    if kind == "ties":
        return np.floor(uniforms(seed, n * n).reshape(n, n) * 4)
    if kind == "product":  # the worst case for greedy starts
        return np.outer(np.arange(1, n + 1), np.arange(1, n + 1)).astype(float)
    dim = 2
    x = uniforms(seed, n * dim).reshape(n, dim)
    y = uniforms(seed + 1, n * dim).reshape(n, dim) ** 2
    return ((x[:, None] - y[None]) ** 2).sum(-1)


cases = []
for kind in ["uniform", "signed", "ties", "product", "squared distance"]:
    for seed, n in enumerate([1, 2, 5, 17, 64, 150], start=1):
        c = costs(kind, seed, n)
        rows, columns = linear_sum_assignment(c)
        cases.append({"kind": kind, "seed": seed, "n": n, "total": c[rows, columns].sum()})
print(json.dumps({
    "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
    "cases": cases,
}, indent=1))
