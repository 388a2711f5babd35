"""What BenchmarkGradient measures, in JAX, in the ways of 004, Appendix E.

    python table5.py

SW_2^2 between g(X) and Z, n = 4096 points in the plane, 30 directions, g a hidden
layer without biases. Milliseconds, the mean of at least a second of runs as Go's
benchmarks have it, of

    grad    jax.grad, jitted
    loop    Jacobians of max(width/32, 1) parts of the batch, one after the other,
            rows clipped, multiplied by the gradient by outputs (Figure 24); each
            part is jitted, which the paper's code was not
    vmap    the same of the whole batch at once, jitted
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

N, K, D = 4096, 30, 2


def g(params, x):
    return jnp.tanh(x @ params[0]) @ params[1]


def sw(y, z, u):
    p, q = jnp.sort(y @ u.T, axis=0), jnp.sort(z @ u.T, axis=0)
    return jnp.mean((p - q) ** 2)


def clip(v, bound):
    return v * jnp.minimum(1, bound / jnp.linalg.norm(v, axis=-1, keepdims=True))


def outputs_gradient(params, x, z, u):
    return jax.grad(sw)(clip(g(params, x), 1.0), z, u)


def rows(params, x):
    jacobian = jax.vmap(lambda one: jax.jacrev(lambda p: g(p, one[None])[0])(params))(x)
    flat = jnp.concatenate([j.reshape(len(x), D, -1) for j in jacobian], -1)
    return clip(flat, 1 / np.sqrt(D))


def part(params, x, by):
    return jnp.einsum("nd,ndr->r", by, rows(params, x))


def whole(params, x, z, u):
    return part(params, x, outputs_gradient(params, x, z, u))


def mean(f):
    jax.block_until_ready(f())
    start, runs, took = time.perf_counter(), 0, 0.0
    while took < 1 or runs < 3:
        jax.block_until_ready(f())
        runs, took = runs + 1, time.perf_counter() - start
    return 1000 * took / runs


def main():
    rng = np.random.default_rng(1)
    x = jnp.asarray(rng.standard_normal((N, 2)), jnp.float32)
    z = jnp.asarray(0.3 * rng.standard_normal((N, D)), jnp.float32)
    u = rng.standard_normal((K, D))
    u = jnp.asarray(u / np.linalg.norm(u, axis=1, keepdims=True), jnp.float32)
    grad = jax.jit(jax.grad(lambda p, x, z, u: sw(g(p, x), z, u)))
    by_outputs, piece, at_once = jax.jit(outputs_gradient), jax.jit(part), jax.jit(whole)
    print("width    grad    loop    vmap   jax", jax.__version__)
    for width in (8, 16, 32, 128, 512, 2048, 8192):
        params = (
            jnp.asarray(rng.standard_normal((2, width)) / 2, jnp.float32),
            jnp.asarray(rng.standard_normal((width, D)) / width**0.5, jnp.float32),
        )
        parts = max(width // 32, 1)

        def loop():
            by = by_outputs(params, x, z, u)
            size = N // parts
            return sum(piece(params, x[i : i + size], by[i : i + size]) for i in range(0, N, size))

        times = mean(lambda: grad(params, x, z, u)), mean(loop), mean(lambda: at_once(params, x, z, u))
        print(f"{width:5d}" + "".join(f"{t:8.1f}" for t in times), flush=True)


if __name__ == "__main__":
    main()
