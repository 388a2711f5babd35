"""Writes prints.txt: a norm and a signed sum of each folded parameter.

    python prints.py FOLDER > ../prints.txt

FOLDER holds weights_<layer>.dat, [out, height, width, in], and
bias_<layer>.dat. Made with Python 3.11.7 and NumPy 2.4.6.
"""
import os
import sys

import numpy as np

FOLDER = sys.argv[1]


def layers():
    yield from ("conv", "conv_1", "conv_2", "conv_3", "conv_4")
    for m in ("mixed", "mixed_1", "mixed_2"):
        for l in ("conv", "tower/conv", "tower/conv_1", "tower_1/conv", "tower_1/conv_1", "tower_1/conv_2", "tower_2/conv"):
            yield m + "/" + l
    for l in ("conv", "tower/conv", "tower/conv_1", "tower/conv_2"):
        yield "mixed_3/" + l
    for m in ("mixed_4", "mixed_5", "mixed_6", "mixed_7"):
        yield m + "/conv"
        for l in ("conv", "conv_1", "conv_2"):
            yield m + "/tower/" + l
        for l in ("conv", "conv_1", "conv_2", "conv_3", "conv_4"):
            yield m + "/tower_1/" + l
        yield m + "/tower_2/conv"
    for l in ("tower/conv", "tower/conv_1", "tower_1/conv", "tower_1/conv_1", "tower_1/conv_2", "tower_1/conv_3"):
        yield "mixed_8/" + l
    for m in ("mixed_9", "mixed_10"):
        for l in ("conv", "tower/conv", "tower/mixed/conv", "tower/mixed/conv_1", "tower_1/conv", "tower_1/conv_1",
                  "tower_1/mixed/conv", "tower_1/mixed/conv_1", "tower_2/conv"):
            yield m + "/" + l


def line(name, values):
    w = values.astype(np.float64).ravel()
    signs = 1 - 2 * ((np.arange(w.size, dtype=np.uint64) * 2654435761 % 2**32) >> 31).astype(np.float64)
    print(name, repr(float(np.sqrt((w * w).sum()))), repr(float((w * signs).sum())))


for layer in layers():
    file = layer.replace("/", "_") + ".dat"
    bias = np.fromfile(f"{FOLDER}/bias_{file}", "<f4")
    if os.path.exists(f"{FOLDER}/weights_{file}"):
        w = np.fromfile(f"{FOLDER}/weights_{file}", "<f4").reshape(len(bias), -1)
        line(layer + ".weight", w.T)
    line(layer + ".bias", bias)
