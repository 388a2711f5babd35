"""Golden values of the cut network for golden_test.go.

    python golden.py FOLDER > golden.json

FOLDER holds weights_<layer>.dat and bias_<layer>.dat. The network is written
here a second time, in PyTorch (NCHW, its own convolutions and pools) and with
a bilinear resize by NumPy, and shares nothing with the Go code but the weights.
"""
import json
import platform
import sys

import numpy as np
import torch
import torch.nn.functional as F

FOLDER = sys.argv[1]


def kernel(name, kh, kw):
    bias = np.fromfile(f"{FOLDER}/bias_{name}.dat", "<f4")
    w = np.fromfile(f"{FOLDER}/weights_{name}.dat", "<f4").reshape(len(bias), kh, kw, -1)
    return torch.from_numpy(w.transpose(0, 3, 1, 2).astype(np.float64)), torch.from_numpy(bias.astype(np.float64))


def conv(x, name, kh=1, kw=1, stride=1, same=True):
    w, b = kernel(name, kh, kw)
    padding = (kh // 2, kw // 2) if same and stride == 1 else 0
    return F.relu(F.conv2d(x, w, b, stride, padding))


def average(x):
    return F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)


def resize(images, size=299):
    """TensorFlow 1's ResizeBilinear, align_corners and half_pixel_centers false."""
    _, height, width, _ = images.shape

    def axis(n):
        at = np.arange(size, dtype=np.float32) * np.float32(n / size)
        low = np.floor(at).astype(int)
        return low, np.minimum(low + 1, n - 1), (at - low).astype(np.float64)

    y0, y1, fy = axis(height)
    x0, x1, fx = axis(width)
    rows = images[:, y0] + (images[:, y1] - images[:, y0]) * fy[None, :, None, None]
    return rows[:, :, x0] + (rows[:, :, x1] - rows[:, :, x0]) * fx[None, None, :, None]


def features(images):
    """images: float64 [n, height, width, 3] in 0...255."""
    x = torch.from_numpy((resize(images) - 128) / 128).permute(0, 3, 1, 2)
    x = conv(x, "conv", 3, 3, 2, False)
    x = conv(x, "conv_1", 3, 3, 1, False)
    x = conv(x, "conv_2", 3, 3)
    x = F.max_pool2d(x, 3, 2)
    x = conv(x, "conv_3")
    x = conv(x, "conv_4", 3, 3, 1, False)
    x = F.max_pool2d(x, 3, 2)
    for m in ("mixed", "mixed_1", "mixed_2"):
        x = torch.cat([
            conv(x, m + "_conv"),
            conv(conv(x, m + "_tower_conv"), m + "_tower_conv_1", 5, 5),
            conv(conv(conv(x, m + "_tower_1_conv"), m + "_tower_1_conv_1", 3, 3), m + "_tower_1_conv_2", 3, 3),
            conv(average(x), m + "_tower_2_conv"),
        ], 1)
    m = "mixed_3"
    x = torch.cat([
        conv(x, m + "_conv", 3, 3, 2),
        conv(conv(conv(x, m + "_tower_conv"), m + "_tower_conv_1", 3, 3), m + "_tower_conv_2", 3, 3, 2),
        F.max_pool2d(x, 3, 2),
    ], 1)
    for m in ("mixed_4", "mixed_5", "mixed_6", "mixed_7"):
        t, u = m + "_tower_conv", m + "_tower_1_conv"
        x = torch.cat([
            conv(x, m + "_conv"),
            conv(conv(conv(x, t), t + "_1", 1, 7), t + "_2", 7, 1),
            conv(conv(conv(conv(conv(x, u), u + "_1", 7, 1), u + "_2", 1, 7), u + "_3", 7, 1), u + "_4", 1, 7),
            conv(average(x), m + "_tower_2_conv"),
        ], 1)
    return x.mean((2, 3)).numpy()


def picture(n, height, width, channels):
    """Bytes that Go's test computes too: waves of some lengths, and a block."""
    out = np.zeros((n, height, width, channels), np.int64)
    for i in range(n):
        for y in range(height):
            for x in range(width):
                for c in range(channels):
                    out[i, y, x, c] = (3 * x * (i + 1) + 5 * y * (c + 1) + x * y // 4) % 256
    out[:, height // 4: height // 2, width // 4: width // 2] = 250
    return out


def main():
    cases = []
    for n, height, width, channels in ((2, 32, 32, 1), (2, 64, 48, 3), (1, 310, 299, 3)):
        images = picture(n, height, width, channels).astype(np.float64)
        if channels == 1:
            images = images.repeat(3, 3)
        f = features(images)
        cases.append({
            "images": [n, height, width, channels],
            "mean": f.mean(1).tolist(),
            "channels": {str(c): f[:, c].tolist() for c in (0, 1, 100, 191, 192, 300, 383, 384, 500, 575, 576, 700, 767)},
        })
    json.dump({
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__},
        "cases": cases,
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
