"""Golden values of the Fréchet distance for fid_test.go, by scipy.linalg.sqrtm.

    python golden_fid.py > golden_fid.json

The points are integers of a linear congruential generator, which Go computes
too; numpy.cov divides by n − 1.
"""
import json
import platform
import sys

import numpy as np
import scipy
from scipy.linalg import sqrtm


def points(seed, n, dim, scale, shift):
    state, out = seed, []
    for _ in range(n * dim):
        state = (1664525 * state + 1013904223) % 2**32
        out.append(((state >> 16) % 1000) / 1000)
    x = np.array(out, dtype=np.float32).astype(np.float64).reshape(n, dim)
    # Neighbouring coordinates are made to correlate.
    x = x + scale * np.roll(x, 1, axis=1) + shift
    return x.astype(np.float32).astype(np.float64)


def frechet(x, y):
    s, t = np.atleast_2d(np.cov(x, rowvar=False)), np.atleast_2d(np.cov(y, rowvar=False))
    root = sqrtm(s @ t)
    d = x.mean(0) - y.mean(0)
    return float(d @ d + np.trace(s) + np.trace(t) - 2 * np.trace(np.real(root)))


cases = []
for n, m, dim in ((50, 60, 1), (40, 40, 3), (200, 300, 16), (300, 200, 64)):
    x, y = points(1, n, dim, 0.5, 0), points(2, m, dim, -0.25, 0.125)
    cases.append({"n": n, "m": m, "dim": dim, "distance": frechet(x, y)})
json.dump({
    "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
    "cases": cases,
}, sys.stdout, indent=1)
print()
