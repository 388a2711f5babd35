"""Golden values of the networks for network_test.go, by PyTorch.

    python golden_networks.py FOLDER > golden_networks.json

FOLDER holds the four files of MNIST, packed. The networks of Cao et al. 2021, D.2,
learn from the first 5000 images in batches of 100 as theirs do, the convolutional
one for a few epochs, which is what a test has time for;
the accuracies are those of the best epoch by the tenth held out, one a seed.
"""
import gzip
import json
import pathlib
import platform
import sys

import numpy as np
import torch
from torch import nn

N, BATCH, PATIENCE, FEW = 5000, 100, 30, 5


def idx(name, header):
    with gzip.open(pathlib.Path(sys.argv[1], name)) as f:
        return np.frombuffer(f.read(), np.uint8, offset=header)


def images(name):
    return torch.tensor(idx(name, 16).reshape(-1, 784) / np.float32(255))


def labels(name):
    return torch.tensor(idx(name, 8).astype(np.int64))


x, y = images("train-images-idx3-ubyte.gz")[:N], labels("train-labels-idx1-ubyte.gz")[:N]
test, truth = images("t10k-images-idx3-ubyte.gz"), labels("t10k-labels-idx1-ubyte.gz")


def mlp():
    return nn.Sequential(nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10))


def cnn():
    def part(channels, filters):
        return [nn.Conv2d(channels, filters, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(), nn.Dropout(0.5)]

    return nn.Sequential(nn.Unflatten(1, (1, 28, 28)), *part(1, 32), *part(32, 64), nn.Flatten(), nn.Linear(7 * 7 * 64, 10))


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).double().mean().item()


def train(network, seed, epochs=1000):
    torch.manual_seed(seed)
    model = network()
    adam = torch.optim.Adam(model.parameters())
    order = torch.randperm(N)
    held, learned = order[: N // 10], order[N // 10 :]
    best, best_epoch, epoch, result = -1, 0, 0, None
    while epoch - best_epoch < PATIENCE and epoch < epochs:
        epoch += 1
        model.train()
        for batch in learned[torch.randperm(len(learned))].split(BATCH):
            adam.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            adam.step()
        if (a := accuracy(model, x[held], y[held])) > best:
            best, best_epoch, result = a, epoch, accuracy(model, test, truth)
    return result


def accuracies(seeds, network, epochs=1000):
    return [round(train(network, seed, epochs), 4) for seed in range(seeds)]


json.dump({
    "versions": {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__},
    "n": N,
    "mlp": accuracies(5, mlp),
    "cnn_epochs": FEW,
    "cnn": accuracies(5, cnn, FEW),
}, sys.stdout, indent=1)
print()
