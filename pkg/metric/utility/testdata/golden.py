"""Golden values of logistic regression for logistic_test.go, by scikit-learn.

    python golden.py FOLDER > golden.json

FOLDER holds the four files of MNIST, packed. The points of the small problems
are integers of a linear congruential generator, which Go computes too; a class
that has no rows is missing on purpose. Their coefficients are those of a tight
tolerance, the accuracies on MNIST those of scikit-learn's defaults but for 5000
iterations (Cao et al. 2021, D.2).
"""
import gzip
import json
import pathlib
import platform
import sys

import numpy as np
import scipy
import sklearn
from sklearn.linear_model import LogisticRegression


def points(seed, n, dim):
    state, out = seed, []
    for _ in range(n * dim):
        state = (1664525 * state + 1013904223) % 2**32
        out.append(((state >> 16) % 1000) / 1000)
    return np.array(out, dtype=np.float32).reshape(n, dim)


def labels(x, classes):
    """The class of largest noisy score among classes; the last column is noise."""
    scores = np.stack([x[:, c] + 1.5 * (x[:, -1] * (c + 2) % 1) for c in range(len(classes))], 1)
    return np.array(classes)[scores.argmax(1)]


def small(n, dim, classes):
    x = points(1, n, dim)
    y = labels(x.astype(np.float64), classes)
    model = LogisticRegression(max_iter=5000, tol=1e-9).fit(x[:, :-1], y)
    return {
        "n": n, "dim": dim - 1, "labels": y.tolist(), "classes": model.classes_.tolist(),
        "coefficients": model.coef_.tolist(), "intercepts": model.intercept_.tolist(),
        "accuracy": model.score(x[:, :-1], y),
        "probabilities": model.predict_proba(x[:2, :-1]).tolist(),
    }


def idx(folder, name, header):
    with gzip.open(pathlib.Path(folder, name)) as f:
        return np.frombuffer(f.read(), np.uint8, offset=header)


def mnist(folder, n):
    x = idx(folder, "train-images-idx3-ubyte.gz", 16).reshape(-1, 784)[:n] / np.float32(255)
    y = idx(folder, "train-labels-idx1-ubyte.gz", 8)[:n]
    test = idx(folder, "t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784) / np.float32(255)
    truth = idx(folder, "t10k-labels-idx1-ubyte.gz", 8)
    model = LogisticRegression(max_iter=5000).fit(x, y)
    return {"n": n, "accuracy": model.score(test, truth), "iterations": int(model.n_iter_[0])}


json.dump({
    "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__},
    "small": [small(200, 7, [0, 1, 3, 4]), small(150, 5, [0, 2])],
    "mnist": [mnist(sys.argv[1], n) for n in (5000, 60000)],
}, sys.stdout, indent=1)
print()
