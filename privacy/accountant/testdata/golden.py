"""Writes golden.json: what dp_accounting, Opacus and high-precision integration say.

    python -m venv golden && golden/bin/pip install dp-accounting==0.6.0 mpmath==1.4.1
    golden/bin/pip install --no-deps opacus==1.6.0   # one file of it is read, which needs no torch
    golden/bin/python golden.py > golden.json

dp_accounting is asked at integer orders only. At fractional orders its series adds the
absolute values of coefficients that change sign, which gives an upper bound; Opacus keeps
the signs, and is asked there.
"""
import importlib.metadata as metadata
import importlib.util
import json
import pathlib
import platform
import sysconfig

import dp_accounting as dp
import mpmath as mp
import numpy as np
from dp_accounting.rdp import rdp_privacy_accountant as rdp

mp.mp.dps = 40
ADD, REPLACE = dp.NeighboringRelation.ADD_OR_REMOVE_ONE, dp.NeighboringRelation.REPLACE_ONE
ORDERS = [*range(2, 129), *range(136, 257, 8), 384, 512, 768, 1024]


def opacus_rdp():
    """Opacus's module of Rényi divergences, without the rest of Opacus."""
    path = pathlib.Path(sysconfig.get_path("purelib")) / "opacus/accountants/analysis/rdp.py"
    spec = importlib.util.spec_from_file_location("opacus_rdp", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def normal_cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def profile(sigma, log_g):
    """The Gaussian's hockey-stick divergence at exp(log_g), Balle & Wang 2018, Theorem 8."""
    half = 1 / (2 * sigma)
    return normal_cdf(half - log_g * sigma) - mp.exp(log_g) * normal_cdf(-half - log_g * sigma)


def pieces(sigma, alpha):
    """Break points that no peak of a moment of order alpha hides between."""
    step = max(sigma, mp.mpf(max(alpha, 2)) / 40)
    return list(mp.arange(-14 * sigma, max(alpha, 2) + 14 * sigma + step, step))


def poisson_exact(sigma, q, alpha):
    """Divergence of the Poisson-sampled Gaussian straight from its definition."""
    sigma, q, alpha = mp.mpf(sigma), mp.mpf(q), mp.mpf(alpha)
    f = lambda z: mp.npdf(z, 0, sigma) * ((1 - q + q * mp.exp((2 * z - 1) / (2 * sigma**2))) ** alpha)
    with mp.workdps(60):
        return mp.log(mp.quad(f, [mp.ninf] + pieces(sigma, alpha) + [mp.inf])) / (alpha - 1)


def replacement_exact(sigma, q, alpha):
    """The bound for fixed-size samples as an integral of hockey-stick divergences (before
    integrating by parts): 1 + a(a-1) int (g^(a-2) + g^(-a-1)) q E(1 + (g-1)/q) dg."""
    sigma, q, alpha = mp.mpf(sigma), mp.mpf(q), mp.mpf(alpha)

    def f(t):  # g = 1 + q (e^t - 1)
        g = 1 + q * mp.expm1(t)
        return (g ** (alpha - 2) + g ** (-alpha - 1)) * q * profile(sigma, t) * q * mp.exp(t)

    breaks = [(z - mp.mpf(1) / 2) / sigma**2 for z in pieces(sigma, alpha) if z > 0.5]
    with mp.workdps(60):
        return mp.log1p(alpha * (alpha - 1) * mp.quad(f, [0] + breaks)) / (alpha - 1)


def epsilon(event, relation, delta):
    accountant = rdp.RdpAccountant(orders=ORDERS, neighboring_relation=relation)
    accountant.compose(event)
    return float(accountant.get_epsilon(delta))


def main():
    out = {"versions": {name: metadata.version(name) for name in ["dp-accounting", "opacus", "mpmath", "numpy", "scipy"]}}
    out["versions"]["python"] = platform.python_version()
    out["orders"] = ORDERS

    settings = [  # sigma, q, steps, delta
        (0.3, 1e-3, 1, 1e-5), (0.5, 1e-3, 10, 1e-5), (0.59, 250 / 81385, 9766, 1e-6), (0.6, 0.5, 3, 1e-4),
        (0.68, 250 / 30000, 4200, 1e-5), (0.75, 1 / 1200, 160000, 1e-5), (0.8, 0.01, 1000, 1e-3), (0.9, 250 / 30000, 2400, 1e-5),
        (1.0, 1e-5, 1000000, 1e-6), (1.0, 0.1, 100, 1e-5), (1.1, 0.01, 10000, 1e-5), (1.3, 256 / 60000, 14062, 1e-5),
        (1.5, 0.9, 20, 1e-6), (2.0, 0.02, 5000, 1e-8), (3.0, 0.2, 300, 1e-5), (4.0, 0.01, 10000, 1e-5),
        (5.0, 1.0, 10, 1e-5), (8.0, 0.05, 100000, 1e-12), (10.0, 0.5, 1000, 1e-5), (20.0, 0.1, 1000000, 1e-6),
        (50.0, 0.3, 10000, 1e-5), (100.0, 0.9, 100, 1e-3),
    ]
    out["poisson_epsilon"], out["replacement_epsilon"] = [], []
    for sigma, q, steps, delta in settings:
        event = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(sigma)), steps)
        out["poisson_epsilon"].append(dict(sigma=sigma, rate=q, steps=steps, delta=delta, value=epsilon(event, ADD, delta)))
    for sigma, size, population, steps, delta in [
        (0.68, 250, 30000, 4200, 1e-5), (0.9, 250, 30000, 2400, 1e-5), (1.0, 100, 10000, 1000, 1e-5), (2.0, 50, 500, 100, 1e-5),
        (2.0, 1, 1000, 100000, 1e-6), (4.0, 256, 60000, 10000, 1e-5), (5.0, 90, 100, 10, 1e-4), (10.0, 1000, 50000, 5000, 1e-7),
    ]:
        event = dp.SelfComposedDpEvent(
            dp.SampledWithoutReplacementDpEvent(population, size, dp.GaussianDpEvent(sigma)), steps)
        out["replacement_epsilon"].append(
            dict(sigma=sigma, size=size, population=population, steps=steps, delta=delta, value=epsilon(event, REPLACE, delta)))

    opacus = opacus_rdp()
    orders = [1.02, 1.5, 2, 3.7, 8, 32, 64.5]
    out["poisson_rdp"], out["poisson_exact"], out["replacement_exact"] = [], [], []
    for i, (sigma, q) in enumerate([(0.3, 1e-3), (0.5, 0.5), (0.68, 250 / 30000), (1.0, 1e-5), (1.0, 0.9), (1.1, 0.01),
                                    (2.0, 0.02), (4.0, 0.3), (10.0, 1e-3), (30.0, 0.1), (100.0, 0.9)]):
        whole = [a for a in orders if a == int(a)]
        for alpha, value in zip(whole, rdp._compute_rdp_poisson_subsampled_gaussian(q, sigma, np.array(whole))):
            out["poisson_rdp"].append(dict(sigma=sigma, rate=q, order=alpha, value=float(value)))
        for alpha in set(orders) - set(whole):
            try:
                value = opacus._compute_rdp(q, sigma, alpha)
            except (ValueError, OverflowError):  # its series breaks down for some
                continue
            out["poisson_rdp"].append(dict(sigma=sigma, rate=q, order=alpha, value=float(value)))
        for alpha in (orders[i % 7], orders[(i + 3) % 7], orders[(i + 5) % 7]):
            out["poisson_exact"].append(dict(sigma=sigma, rate=q, order=alpha, value=float(poisson_exact(sigma, q, alpha))))
            out["replacement_exact"].append(
                dict(sigma=sigma, rate=q, order=alpha, value=float(replacement_exact(sigma, q, alpha))))

    out["gaussian_log_delta"] = [
        dict(sigma=sigma, epsilon=eps, value=float(mp.log(profile(mp.mpf(sigma), mp.mpf(eps)))))
        for sigma, eps in [(0.007, 1e4), (0.0068, 1e4), (0.01, 5000.0), (0.1, 1.0), (0.1, 90.0), (0.3, 10.0), (0.5, 0.0), (1.0, 1.0),
                           (1.0, 8.0), (1.0, 37.0), (2.0, 0.01), (2.0, 3.0), (10.0, 0.5), (10.0, 3.7), (100.0, 0.3), (1000.0, 0.0),
                           (1000.0, 1e-3), (1e6, 1e-6), (1e6, 3e-5)]
    ]
    out["gaussian_epsilon"] = [
        dict(sigma=sigma, delta=delta, value=float(dp.get_epsilon_gaussian(sigma, delta)))
        for sigma, delta in [(0.3, 1e-5), (0.7, 1e-3), (1.0, 1e-5), (1.0, 1e-10), (2.0, 1e-6), (5.0, 1e-5), (10.0, 0.01),
                             (30.0, 1e-8), (100.0, 1e-5), (100.0, 0.1)]
    ]
    out["gaussian_sigma"] = [
        dict(epsilon=eps, delta=delta, value=float(dp.get_sigma_gaussian(eps, delta)))
        for eps, delta in [(0.01, 1e-5), (0.1, 1e-6), (0.5, 1e-5), (1.0, 1e-5), (2.0, 1e-10), (5.0, 1e-5), (10.0, 1e-5), (50.0, 1e-8)]
    ]
    # One point per line.
    groups = [f' "{name}": ' + ("[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]" if name not in ("versions", "orders")
                              else json.dumps(value)) for name, value in out.items()]
    print("{\n" + ",\n".join(groups) + "\n}")


if __name__ == "__main__":
    main()
