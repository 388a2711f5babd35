"""Golden values of the MLP for network_test.go, by PyTorch.

    python golden_mlp.py FOLDER > golden_mlp.json

FOLDER holds the four files of MNIST, packed. The network of Cao et al. 2021, D.2,
learns from the first 5000 images in batches of 100 as theirs does; the
accuracies are those of the best epoch by the tenth held out, of five seeds.
"""
import gzip
import json
import pathlib
import platform
import sys

import numpy as np
import torch
from torch import nn

N, BATCH, PATIENCE = 5000, 100, 30


def idx(name, header):
    with gzip.open(pathlib.Path(sys.argv[1], name)) as f:
        return np.frombuffer(f.read(), np.uint8, offset=header)


def images(name):
    return torch.tensor(idx(name, 16).reshape(-1, 784) / np.float32(255))


def labels(name):
    return torch.tensor(idx(name, 8).astype(np.int64))


x, y = images("train-images-idx3-ubyte.gz")[:N], labels("train-labels-idx1-ubyte.gz")[:N]
test, truth = images("t10k-images-idx3-ubyte.gz"), labels("t10k-labels-idx1-ubyte.gz")


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).double().mean().item()


def train(seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10))
    adam = torch.optim.Adam(model.parameters())
    order = torch.randperm(N)
    held, learned = order[: N // 10], order[N // 10 :]
    best, best_epoch, epoch, result = -1, 0, 0, None
    while epoch - best_epoch < PATIENCE:
        epoch += 1
        for batch in learned[torch.randperm(len(learned))].split(BATCH):
            adam.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            adam.step()
        if (a := accuracy(model, x[held], y[held])) > best:
            best, best_epoch, result = a, epoch, accuracy(model, test, truth)
    return result


json.dump({
    "versions": {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__},
    "n": N,
    "accuracies": [round(train(seed), 4) for seed in range(5)],
}, sys.stdout, indent=1)
print()
