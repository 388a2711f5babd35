"""What BenchmarkSinkhorn measures, by OTT-JAX (ott-jax 0.6.0; jax 0.10.2 on CPUs, 0.11.2 on a GPU).

    python peers.py

OT_eps with its gradient by x, jitted, vmapped over the batch, in float32. Run it
beside the benchmark, on the same idle machine:

    go test -run '^$' -bench Sinkhorn ./transport/graph

On a GPU set JAX_DEFAULT_MATMUL_PRECISION=highest, or its products are of 11 bits.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np
from ott.geometry import costs, pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn


@jax.tree_util.register_pytree_node_class
class Mixture(costs.CostFn):
    def __call__(self, x, y):
        d = x - y
        return jnp.sum(d * d) + jnp.sum(jnp.abs(d))

    def tree_flatten(self):
        return (), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls()


def least(f, *args, repeats=5):
    out, best = jax.block_until_ready(f(*args)), float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(f(*args))
        best = min(best, time.perf_counter() - start)
    return best, out


def main():
    rng = np.random.default_rng(1)
    for batch, n, d in ((64, 50, 794), (1, 2000, 64)):
        x, y = (jnp.asarray(rng.random((batch, n, d), dtype=np.float32)) for _ in range(2))
        for name, cost in (("squares", costs.SqEuclidean()), ("mixture", Mixture())):
            for lse in (True, False):

                def solve(x, y):
                    cloud = pointcloud.PointCloud(x, y, cost_fn=cost, epsilon=d / 6 / 100, scale_cost=1.0)
                    solver = sinkhorn.Sinkhorn(lse_mode=lse, threshold=5e-4, max_iterations=2000)
                    out = solver(linear_problem.LinearProblem(cloud))
                    # Its error is of one marginal, computed before the last update of the
                    # other; ours is of both, and of what is returned.
                    plan = jax.lax.stop_gradient(out.matrix)
                    off = jnp.abs(plan.sum(0) - 1 / n).sum() + jnp.abs(plan.sum(1) - 1 / n).sum()
                    return out.reg_ot_cost, (out.n_iters, off)

                def loss(x, y):
                    value, aux = jax.vmap(solve)(x, y)
                    return value.sum(), aux

                seconds, ((_, (iterations, off)), _) = least(jax.jit(jax.value_and_grad(loss, has_aux=True)), x, y)
                mode = "log domain" if lse else "kernel"
                print(f"{batch}x{n}x{d} {name:8} {mode:10} {seconds * 1e3:8.1f} ms  "
                      f"{int(iterations.max()):4} iterations, marginal error {float(off.max()):.1e}", flush=True)


if __name__ == "__main__":
    main()
