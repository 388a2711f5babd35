"""Writes golden.json: what POT, OTT-JAX and GeomLoss compute of small problems.

    pip install -r golden.txt
    python golden.py > golden.json      (two minutes)

Points and weights come from a linear congruential generator that the Go tests
have too. The libraries differ in what they call the entropy, in factors of the
cost and in what they normalise; all of it is converted here to

    OT = min <C, P> + eps*KL(P | a x b) [+ rho*KL(P1 | a) + rho*KL(P'1 | b)]

with KL(p | q) = sum p*log(p/q) - p + q, and each value that a library returns
itself is checked against this formula at the plan that it returns.
"""
import json
import platform
import sys

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

import geomloss
import jax.numpy as jnp
import ot
import ott
import scipy
import torch
from ott.geometry import costs, pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn
from ott.tools import sinkhorn_divergence

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def uniforms(seed, count):
    """count multiples of 2^-24 in [0, 1): Knuth's MMIX generator, upper 24 bits."""
    state, values = seed, np.empty(count)
    for i in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        values[i] = (state >> 40) / 2**24
    return values


def inputs(seed, n, m, dim, weights):
    """x in [-2, 2)^dim, y in [-1, 3)^dim, exact in float32, and weights of sum 1
    ("equal", "shares") or any ("masses")."""
    x = uniforms(seed, n * dim).reshape(n, dim) * 4 - 2
    y = uniforms(seed + 1, m * dim).reshape(m, dim) * 4 - 1
    if weights == "equal":
        return x, y, np.full(n, 1 / n), np.full(m, 1 / m)
    a, b = uniforms(seed + 2, n) + 0.125, uniforms(seed + 3, m) + 0.125
    if weights == "shares":
        a, b = a / a.sum(), b / b.sum()
    return x, y, a, b


def matrix(cost, x, y):
    d = x[:, None] - y[None]
    if cost == "L2":
        return np.sqrt((d**2).sum(-1))
    return cost["squared"] * (d**2).sum(-1) + cost["absolute"] * np.abs(d).sum(-1)


SQUARED = {"squared": 1, "absolute": 0}
HALF = {"squared": 0.5, "absolute": 0}
L1 = {"squared": 0, "absolute": 1}
MIXTURE = {"squared": 1, "absolute": 0.5}


def kl(p, q):
    logs = np.where(p > 0, p * np.log(np.where(p > 0, p, 1) / q), 0)
    return (logs - p + q).sum()


def primal(plan, c, a, b, epsilon, reach=0):
    value = (plan * c).sum() + epsilon * kl(plan, np.outer(a, b))
    if reach:
        value += reach * kl(plan.sum(1), a) + reach * kl(plan.sum(0), b)
    return value


cases = []


def add(library, kind, seed, shape, weights, value, **rest):
    case = {"library": library, "kind": kind, "seed": seed, "n": shape[0], "m": shape[1], "dim": shape[2],
            "weights": weights, "value": float(value)}
    for key, v in rest.items():
        if isinstance(v, np.ndarray):
            v = [float(f"{w:.10g}") for w in v.ravel()]
        case[key] = v
    cases.append(case)


def close(a, b, tolerance, what):
    assert abs(a - b) <= tolerance * max(1, abs(b)), f"{what}: {a} and {b}"


SMALL, FLAT, SQUARE = (12, 9, 3), (7, 5, 2), (8, 8, 2)

# POT: exact values.
for seed, (shape, weights, cost) in enumerate(
        [(s, w, c) for s in (FLAT, SQUARE) for w in ("equal", "shares") for c in (SQUARED, L1, "L2")], start=100):
    x, y, a, b = inputs(seed * 10, *shape, weights)
    c = matrix(cost, x, y)
    add("POT", "exact", seed * 10, shape, weights, ot.emd2(a, b, c), cost=cost)

# POT: the line. wasserstein_1d returns W_p^p.
for seed, (shape, weights, p) in enumerate(
        [(s, w, p) for s in ((10, 10, 1), (12, 7, 1)) for w in ("equal", "shares") for p in (1, 1.5, 2, 3)], start=200):
    x, y, a, b = inputs(seed * 10, *shape, weights)
    tx, ty = torch.tensor(x[:, 0], requires_grad=True), torch.tensor(y[:, 0], requires_grad=True)
    value = ot.wasserstein_1d(tx, ty, torch.tensor(a), torch.tensor(b), p)
    value.backward()
    exact = ot.emd2_1d(x[:, 0], y[:, 0], a, b, metric="minkowski", p=p)
    close(value.item(), exact, 1e-9, "wasserstein_1d and emd2_1d")
    add("POT", "line", seed * 10, shape, weights, value.item(), p=p, by_x=tx.grad.numpy(), by_y=ty.grad.numpy())

# POT: sliced, with the projections given. sliced_wasserstein_distance returns
# SW_p, the p-th root of the mean.
for seed, (shape, weights, p) in enumerate(
        [(s, w, p) for s in ((12, 12, 3), SMALL) for w in ("equal", "shares") for p in (1, 2, 3)], start=300):
    x, y, a, b = inputs(seed * 10, *shape, weights)
    u = uniforms(seed * 10 + 4, 6 * shape[2]).reshape(6, shape[2]) - 0.5
    u = (u / np.sqrt((u**2).sum(1, keepdims=True))).astype(np.float32).astype(float)
    tx, ty = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    value = ot.sliced_wasserstein_distance(tx, ty, torch.tensor(a), torch.tensor(b), projections=torch.tensor(u.T), p=p) ** p
    value.backward()
    add("POT", "sliced", seed * 10, shape, weights, value.item(), p=p, directions=6,
        by_x=tx.grad.numpy(), by_y=ty.grad.numpy())

# POT: entropic plans. For the entropy sum P*log P it minimises the same with
# another constant, so the plan is the same.
for seed, (shape, weights, cost, epsilon) in enumerate(
        [(s, w, c, e) for s in (FLAT, SQUARE) for w in ("equal", "shares")
         for c, e in ((SQUARED, 1), (SQUARED, 0.2), (L1, 0.5), (MIXTURE, 3))], start=400):
    x, y, a, b = inputs(seed * 10, *shape, weights)
    c = matrix(cost, x, y)
    plan = ot.sinkhorn(a, b, c, epsilon, method="sinkhorn_log", stopThr=1e-13, numItermax=200_000)
    add("POT", "sinkhorn", seed * 10, shape, weights, primal(plan, c, a, b, epsilon), cost=cost, epsilon=epsilon,
        transport=float((plan * c).sum()), plan=plan)

# POT: unbalanced plans; "kl" is against the product of the weights.
for seed, (weights, epsilon, reach) in enumerate(
        [(w, e, r) for w in ("shares", "masses") for e, r in ((0.5, 1), (0.5, 10), (2, 3))], start=500):
    x, y, a, b = inputs(seed * 10, *FLAT, weights)
    c = matrix(SQUARED, x, y)
    plan = ot.unbalanced.sinkhorn_unbalanced(a, b, c, epsilon, reach, method="sinkhorn_stabilized", reg_type="kl",
                                             stopThr=1e-14, numItermax=200_000)
    add("POT", "sinkhorn", seed * 10, FLAT, weights, primal(plan, c, a, b, epsilon, reach), cost=SQUARED,
        epsilon=epsilon, reach=reach, transport=float((plan * c).sum()), plan=plan)

# OTT-JAX, balanced. Its reg_ot_cost has the entropy against the product.
COSTS = [(SQUARED, costs.SqEuclidean()), (L1, costs.PNormP(1)), ("L2", costs.Euclidean())]


def ott_solve(geometry, a, b, tau=1.0):
    problem = linear_problem.LinearProblem(geometry, a=a, b=b, tau_a=tau, tau_b=tau)
    return sinkhorn.Sinkhorn(threshold=1e-12, max_iterations=200_000)(problem)


for seed, (shape, weights, (cost, cost_fn), epsilon) in enumerate(
        [(s, w, c, e) for s in (FLAT, SMALL) for w in ("equal", "shares") for c in COSTS for e in (0.3, 2)], start=600):
    x, y, a, b = inputs(seed * 10, *shape, weights)
    c = matrix(cost, x, y)

    def solve(x, y):
        return ott_solve(pointcloud.PointCloud(x, y, cost_fn=cost_fn, epsilon=epsilon), a, b)

    out = solve(jnp.asarray(x), jnp.asarray(y))
    plan, value = np.asarray(out.matrix), float(out.reg_ot_cost)
    close(value, primal(plan, c, a, b, epsilon), 1e-9, "OTT's cost")
    by_x, by_y = jax.grad(lambda x, y: solve(x, y).reg_ot_cost, argnums=(0, 1))(jnp.asarray(x), jnp.asarray(y))
    add("OTT-JAX", "sinkhorn", seed * 10, shape, weights, value, cost=cost, epsilon=epsilon,
        transport=float((plan * c).sum()), by_x=np.asarray(by_x), by_y=np.asarray(by_y))

# OTT-JAX, unbalanced. Its iterations have the fixed point P1 = a*exp(-f/rho) for
# P = exp((f + g - C)/eps), so they minimise with the entropy sum P*log P - P,
# though its reg_ot_cost is written for the entropy against the product, and is
# not the minimum of either. A cost of C - eps*log(a x b) makes its problem ours;
# the value is that of its plan.
for seed, (weights, epsilon, reach) in enumerate(
        [(w, e, r) for w in ("equal", "shares", "masses") for e, r in ((0.5, 1), (1, 8))], start=650):
    x, y, a, b = inputs(seed * 10, *FLAT, weights)
    c = matrix(SQUARED, x, y)
    shifted = jnp.asarray(c - epsilon * np.log(np.outer(a, b)))
    out = ott_solve(ott.geometry.geometry.Geometry(cost_matrix=shifted, epsilon=epsilon), a, b, reach / (reach + epsilon))
    plan = np.asarray(out.matrix)
    add("OTT-JAX", "sinkhorn", seed * 10, FLAT, weights, primal(plan, c, a, b, epsilon, reach), cost=SQUARED,
        epsilon=epsilon, reach=reach, transport=float((plan * c).sum()), plan=plan)

# OTT-JAX: divergences, OT(x, y) - OT(x, x)/2 - OT(y, y)/2.
for seed, (shape, weights, (cost, cost_fn), epsilon) in enumerate(
        [(s, w, c, 0.5) for s in (FLAT, SMALL) for w in ("equal", "shares") for c in COSTS], start=700):
    x, y, a, b = inputs(seed * 10, *shape, weights)

    def divergence(x, y):
        return sinkhorn_divergence.sinkhorn_divergence(
            pointcloud.PointCloud, x, y, a=a, b=b, cost_fn=cost_fn, epsilon=epsilon,
            solve_kwargs={"threshold": 1e-12, "max_iterations": 200_000, "use_danskin": True})[0]

    by_x, by_y = jax.grad(divergence, argnums=(0, 1))(jnp.asarray(x), jnp.asarray(y))
    # At a distance of 0 the slope of OTT's costs L1 and L2 is not ours, and the
    # diagonals of the self terms are all zeros. So no gradients of those.
    slopes = {"by_x": np.asarray(by_x), "by_y": np.asarray(by_y)} if cost == SQUARED else {}
    add("OTT-JAX", "divergence", seed * 10, shape, weights, divergence(x, y), cost=cost, epsilon=epsilon, **slopes)

# GeomLoss: the cost is |x-y|^p/p, eps = blur^p, rho = reach^p. It does not iterate
# to convergence, but lets eps fall slowly and makes one iteration at each, so
# its values have an error, which falls with 1 - scaling. Its unbalanced
# gradients are left out: finite differences of its own value are (rho + eps) /
# (rho + eps/2) times as large without debiasing, and otherwise off as well.
for seed, (shape, weights, (p, blur), reach, debias) in enumerate(
        [(s, w, p, r, d) for s in (FLAT, SMALL) for w in ("equal", "shares") for p in ((1, 0.7), (2, 1.2))
         for r in (0, 1.5) for d in (False, True)], start=800):
    x, y, a, b = inputs(seed * 10, *shape, weights)
    tx, ty = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    loss = geomloss.SamplesLoss("sinkhorn", p=p, blur=blur, reach=reach or None, debias=debias, scaling=0.998,
                                backend="tensorized")
    value = loss(torch.tensor(a), tx, torch.tensor(b), ty)
    slopes = {}
    if not reach:
        value.backward()
        slopes = {"by_x": tx.grad.numpy(), "by_y": ty.grad.numpy()}
    add("GeomLoss", "divergence" if debias else "sinkhorn", seed * 10, shape, weights, value.item(),
        cost=HALF if p == 2 else "L2", epsilon=blur**p, reach=reach**p if reach else 0, tolerance=2e-4, **slopes)

print(f"{len(cases)} cases", file=sys.stderr)
versions = {
    "python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__,
    "POT": ot.__version__, "jax": jax.__version__, "ott-jax": ott.__version__,
    "torch": torch.__version__.split("+")[0], "geomloss": geomloss.__version__,
}
print("{\n \"versions\": " + json.dumps(versions) + ",\n \"cases\": [")
print(",\n".join("  " + json.dumps(case) for case in cases))
print(" ]\n}")
