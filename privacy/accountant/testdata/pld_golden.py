"""Writes pld_golden.json: epsilon by dp_accounting's and Microsoft's numerical accountants,
and a bracket of the true epsilon.

    python3.11 -m venv golden && golden/bin/pip install -r peers.txt
    golden/bin/python pld_golden.py > pld_golden.json   # half an hour on two cores

The bracket comes from pld_exact.py, which shares no code or discretisation with a peer:
of the worse direction, by grids of two sizes, and by a contour integral where that
converges, which then must lie between the grids' bounds; for Gaussians without samples
and for single steps, the closed form in high precision. No peer reaches all of the
domain: prv_accountant's rounding errors hide small delta, dp_accounting's grids grow with
epsilon. Where a peer fails, its reason is in the file. Where a peer's bound contradicts
the bracket, so is that, under "conflicts".

Conventions. sigma is the noise's standard deviation over one record's norm; "laplace":
its scale over the sensitivity. "poisson_replace" is dp_accounting's pair under
REPLACE_ONE, a record at +1 replaced by one at -1. "fixed_size" is C_q of the Gaussian,
with sigma over the distance between a record and its replacement; neither peer has it.
"""
import importlib.metadata as metadata
import itertools
import json
import math
import multiprocessing
import platform
import signal
import sys
import warnings

import dp_accounting as dp
import mpmath as mp
import numpy as np
import prv_accountant as prv
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp import rdp_privacy_accountant as rdp
from golden import ORDERS, profile
from prv_accountant.accountant import compute_safe_domain_size

import pld_exact as exact

ADD, REPLACE = dp.NeighboringRelation.ADD_OR_REMOVE_ONE, dp.NeighboringRelation.REPLACE_ONE
DELTAS = [1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-3]
PATIENCE = 60  # seconds a peer may take
RDP_ORDERS = [2, 16, 128]


def grid():
    sigmas = [0.3, 0.5, 0.75, 1.0, 1.5, 3.0, 10.0, 30.0, 100.0]
    rates = [1e-5, 1e-4, 1 / 1200, 0.01, 0.1, 0.5, 0.9]
    for (i, sigma), (j, rate), (k, steps) in itertools.product(
            enumerate(sigmas), enumerate(rates), enumerate([1, 10, 300, 5000, 100000, 1000000])):
        yield dict(kind="poisson", sigma=sigma, rate=rate, steps=steps, delta=DELTAS[(2 * i + 3 * j + k) % 7])
    for sigma, rate, steps, delta in [  # of papers and tutorials
            (0.59, 250 / 81385, 9766, 1e-6), (0.68, 250 / 30000, 4200, 1e-5), (0.75, 1 / 1200, 160000, 1e-5),
            (0.9, 250 / 30000, 2400, 1e-5), (1.1, 0.01, 10000, 1e-5), (1.1, 256 / 60000, 14062, 1e-5), (1.3, 256 / 60000, 14062, 1e-5)]:
        yield dict(kind="poisson", sigma=sigma, rate=rate, steps=steps, delta=delta)
    for i, (sigma, steps) in enumerate(itertools.product([0.3, 1.0, 4.0, 20.0, 100.0], [1, 10, 1000, 100000, 1000000])):
        yield dict(kind="gaussian", sigma=sigma, steps=steps, delta=DELTAS[3 * i % 7])
    for i, (sigma, steps) in enumerate(itertools.product([0.3, 1.0, 4.0, 20.0, 100.0], [1, 10, 300, 10000])):
        yield dict(kind="laplace", sigma=sigma, steps=steps, delta=DELTAS[3 * i % 7])
    for i, (sigma, rate, steps) in enumerate(itertools.product([0.5, 1.0, 4.0, 30.0], [1e-3, 0.02, 0.5], [1, 100, 10000])):
        yield dict(kind="poisson_replace", sigma=sigma, rate=rate, steps=steps, delta=DELTAS[3 * i % 7])
    samples = [(1, 100000), (25, 30000), (250, 30000), (500, 5000), (9, 10)]
    for i, (sigma, (size, population), steps) in enumerate(itertools.product([0.5, 1.0, 4.0, 30.0], samples, [1, 100, 10000])):
        yield dict(kind="fixed_size", sigma=sigma, size=size, population=population, steps=steps, delta=DELTAS[3 * i % 7])


def rate(p):
    return p["size"] / p["population"] if "size" in p else p.get("rate", 1)


def event(p):
    """dp_accounting's event, and its relation."""
    step = dp.LaplaceDpEvent(p["sigma"]) if p["kind"] == "laplace" else dp.GaussianDpEvent(p["sigma"])
    if p["kind"].startswith("poisson"):
        step = dp.PoissonSampledDpEvent(p["rate"], step)
    return dp.SelfComposedDpEvent(step, p["steps"]), REPLACE if p["kind"] == "poisson_replace" else ADD


def directions(p):
    """The step, under both directions if they differ, for pld_exact."""
    sigma = p["sigma"]
    return {
        "laplace": lambda: [exact.Laplace(sigma)],
        "gaussian": lambda: [exact.Poisson(sigma, 1, "remove")],
        "poisson": lambda: [exact.Poisson(sigma, p["rate"], "remove"), exact.Poisson(sigma, p["rate"], "add")],
        "poisson_replace": lambda: [exact.Poisson(sigma, p["rate"], "replace")],
        "fixed_size": lambda: [exact.FixedSize(sigma, rate(p))],
    }[p["kind"]]()


def closed_form(p):
    """Of one step: delta is q times the Gaussian's at log(1 + (e^eps - 1)/q); remove is worse
    than add (Balle, Barthe & Gaboardi 2018). Of Gaussians: they are one."""
    if p["kind"] == "poisson_replace" or p["steps"] > 1 and p["kind"] != "gaussian":
        return None
    if p["kind"] == "laplace":  # delta = 1 - exp((eps - 1/scale)/2)
        return max(0, 1 / p["sigma"] + 2 * math.log1p(-p["delta"]))
    sigma, q, delta = mp.mpf(p["sigma"]) / mp.sqrt(p["steps"]), mp.mpf(rate(p)), mp.mpf(p["delta"])
    enough = lambda eps: q * profile(sigma, mp.log1p(mp.expm1(eps) / q)) <= delta
    if enough(mp.mpf(0)):
        return 0.0
    low, high = mp.mpf(0), mp.mpf(1)
    while not enough(high):
        high *= 2
    while high - low > mp.mpf(10) ** -14 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)


def bracket(p):
    """(lower, upper, method) of the true epsilon."""
    known = closed_form(p)
    if known is not None:
        return known, known, "closed form"
    lower, upper, method = 0.0, 0.0, "grids"
    for step in directions(p):
        low, high = exact.epsilon(step, p["steps"], p["delta"])
        if high - low > 2e-4 + 2e-3 * high:
            low, high = exact.epsilon(step, p["steps"], p["delta"], 8 * exact.GRID)
        if high <= 0 or p["kind"] == "laplace":
            lower, upper = max(lower, low), max(upper, high)
            continue  # epsilon is 0; or the characteristic function of two atoms comes back forever
        at = exact.epsilon_by_contour(step, p["steps"], p["delta"], (low + high) / 2)
        if at is not None:
            if not low <= at <= high:
                raise ArithmeticError(f"{p}: grids say {low} to {high}, the contour {at}")
            low, high = at - 1e-9 - 1e-8 * at, at + 1e-9 + 1e-8 * at
        if high >= upper:
            method = "contour" if at is not None else "grids"
        lower, upper = max(lower, low), max(upper, high)
    return lower, upper, method


def within(seconds, f):
    """What f returns, or why it did not."""
    def late(*_):
        raise TimeoutError(f"more than {seconds} s")
    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        value = f()
        return value if np.all(np.isfinite(value)) else f"not finite: {value}"
    except Exception as e:  # whatever a peer fails with is its answer
        return f"{type(e).__name__}: {e}"[:160]
    finally:
        signal.alarm(0)


def dp_interval(p, upper):
    """Fine enough for 150,000 losses or so, and a round number."""
    sigma, q = p["sigma"], rate(p)
    largest = 1 / sigma if p["kind"] == "laplace" else float(np.logaddexp(math.log(q) + (1 + 20 * sigma) / (2 * sigma**2), math.log1p(-q) if q < 1 else -math.inf))
    return float(f"{max(upper, largest) / 1.5e5:.0e}")


def ask_dp(p, interval):
    what, relation = event(p)
    accountant = PLDAccountant(relation, interval)
    accountant.compose(what)
    return float(accountant.get_epsilon(p["delta"]))


def ask_rdp(p):
    accountant = rdp.RdpAccountant(ORDERS)
    accountant.compose(event(p)[0])
    return float(accountant.get_epsilon(p["delta"]))


def ask_prv(p, upper):
    """[lower, upper]. The error asked for is what half a million losses allow."""
    variable = {
        "poisson": lambda: prv.PoissonSubsampledGaussianMechanism(p["rate"], p["sigma"]),
        "gaussian": lambda: prv.GaussianMechanism(p["sigma"]),
        "laplace": lambda: prv.LaplaceMechanism(1 / p["sigma"]),
    }[p["kind"]]()
    delta_error = p["delta"] / 1000
    reach = compute_safe_domain_size([variable], [p["steps"]], 0.1, delta_error)
    error = max(2e-3 * upper, 2 * reach / 2**19 * math.sqrt(p["steps"] / 2 * math.log(12 / delta_error)))
    accountant = prv.PRVAccountant([variable], error, delta_error, [p["steps"]])
    low, _, high = accountant.compute_epsilon(p["delta"], [p["steps"]])
    return [low, high]


def measure(p):
    """The point with all answers; with "failures" alone if our own methods disagree."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    try:
        lower, upper, method = bracket(p)
    except ArithmeticError as e:
        return dict(p, failures={"bracket": str(e)})
    p = dict(p, lower=lower, upper=upper, method=method)
    failures = {}

    def ask(name, f):
        value = within(PATIENCE, f)
        if isinstance(value, str):
            failures[name], value = value, None
        p[name] = value

    if p["kind"] != "fixed_size":
        p["dp_interval"] = dp_interval(p, upper)
        ask("dp_accounting", lambda: ask_dp(p, p["dp_interval"]))
    if p["kind"] in ("poisson", "gaussian", "laplace"):
        ask("prv_accountant", lambda: ask_prv(p, upper))
    if p["kind"] in ("poisson", "gaussian"):
        ask("rdp_epsilon", lambda: ask_rdp(p))
        p["rdp"] = [float(x) for x in rdp._compute_rdp_poisson_subsampled_gaussian(rate(p), p["sigma"], RDP_ORDERS)]
    if failures:
        p["failures"] = failures
    # Round-off aside, and dp_accounting's masses of 1e-15 and so on that it counts as lost.
    bounds = [("dp_accounting", 0, p.get("dp_accounting")), ("prv_accountant", *(p.get("prv_accountant") or [None] * 2))]
    conflicts = [name for name, low, high in bounds
                 if high is not None and (low > upper * (1 + 1e-6) + 1e-6 or max(0, high) < lower * (1 - 1e-6) - 1e-6)]
    if conflicts:
        p["conflicts"] = conflicts
    return p


def main():
    out = {"versions": {name: metadata.version(name) for name in ["dp-accounting", "prv-accountant", "mpmath", "numpy", "scipy"]}}
    out["versions"]["python"] = platform.python_version()
    out.update(orders=ORDERS, rdp_orders=RDP_ORDERS)
    points = []
    with multiprocessing.Pool(2, maxtasksperchild=20) as pool:
        for p in pool.imap(measure, list(grid())):
            points.append(json.dumps(p))
            print(points[-1], file=sys.stderr, flush=True)
    head = ",\n".join(f' "{name}": {json.dumps(value)}' for name, value in out.items())
    print("{\n" + head + ',\n "points": [\n  ' + ",\n  ".join(points) + "\n ]\n}")


if __name__ == "__main__":
    main()
