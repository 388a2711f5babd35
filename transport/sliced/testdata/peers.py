"""What other libraries take for SW2 and its gradient: {"task/peer": {"Seconds", "Value"}}.

The tasks are those of peers_test.go: n and m points of N(0, I) in single
precision, 200 directions, minimum of several runs. A peer that is not installed
is left out. Compiling is not timed. Values differ as the random points do.

For n != m JAX and torch by hand compute what 004's Proposition 3.1 says: sort both
sides and gather the pairs of the plan of ranks, which does not depend on the data.
"""

import json
import time

import numpy

TASKS = [(10_000, 10_000, 8), (10_000, 10_000, 64), (10_000, 7_000, 8), (10_000, 7_000, 64)]
DIRECTIONS = 200
results = {}


def best(run, times=4):
    value = run()  # compiles, warms up
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return {"Seconds": min(seconds), "Value": float(value)}


def merged(n, m):
    """Pairs of ranks and masses of the plan between n and m equal weights."""
    levels = numpy.union1d(numpy.arange(1, n + 1) * m, numpy.arange(1, m + 1) * n)
    mass = numpy.diff(levels, prepend=0) / (n * m)
    return (levels - 1) // m, (levels - 1) // n, mass.astype("float32")


for n, m, dim in TASKS:
    task = f"n={n}/m={m}/d={dim}/"
    rng = numpy.random.default_rng(1)
    x, y = (rng.standard_normal((size, dim)).astype("float32") for size in (n, m))
    u = rng.standard_normal((DIRECTIONS, dim)).astype("float32")
    u /= numpy.linalg.norm(u, axis=1, keepdims=True)

    try:
        import jax
        import jax.numpy as jnp

        left, right, mass = merged(n, m)

        def power(x, y, u):
            a, b = jnp.sort(u @ x.T, axis=1), jnp.sort(u @ y.T, axis=1)
            if n == m:
                return jnp.mean((a - b) ** 2)
            return jnp.mean(jnp.sum(mass * (a[:, left] - b[:, right]) ** 2, axis=1))

        both = jax.jit(jax.value_and_grad(power, argnums=(0, 1)))
        on_device = [jnp.asarray(v) for v in (x, y, u)]
        results[task + "jax"] = best(lambda: jax.block_until_ready(both(*on_device))[0] ** 0.5)
    except ImportError:
        pass

    try:
        import ot

        # The value alone: POT has no gradient of numpy's arrays.
        results[task + "pot-numpy-value-only"] = best(
            lambda: ot.sliced_wasserstein_distance(x, y, projections=u.T), times=2
        )
    except ImportError:
        pass

    try:
        import ot
        import torch

        directions = torch.tensor(u.T)

        def pot():
            a, b = (torch.tensor(v, requires_grad=True) for v in (x, y))
            value = ot.sliced_wasserstein_distance(a, b, projections=directions)
            value.backward()
            return value.detach()

        results[task + "pot-torch"] = best(pot, times=2)

        def by_hand():
            a, b = (torch.tensor(v, requires_grad=True) for v in (x, y))
            on_a, on_b = (torch.sort(directions.T @ v.T, dim=1).values for v in (a, b))
            if n == m:
                value = ((on_a - on_b) ** 2).mean()
            else:
                left, right, mass = (torch.tensor(v) for v in merged(n, m))
                value = (mass * (on_a[:, left] - on_b[:, right]) ** 2).sum(dim=1).mean()
            value.backward()
            return value.detach() ** 0.5

        results[task + "torch-by-hand"] = best(by_hand, times=3)
    except ImportError:
        pass

print(json.dumps(results))
