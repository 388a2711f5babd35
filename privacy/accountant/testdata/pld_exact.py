"""The epsilon of many equal steps, by two methods that share nothing with the peers'.

A step is a measure: the law of the privacy loss L = log p/q under p, as nodes of the
trapezoidal rule (which converges faster than any power for these integrands) and atoms.

epsilon: each node's mass goes to the two losses of a grid around it so that its mass
under p and under q both stay (connect the dots, without profiles and their differences);
the law tilted by exp(c*L), with c where Chernoff's bound of delta is near its least, is
composed by FFT. Its bulk is near epsilon, so delta = 1e-12 comes with the same relative
accuracy as 1e-3. A bracket comes from grids of two sizes.

epsilon_by_contour: an integral of the characteristic function, without a grid of losses.
"""
import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.signal import lfilter
from scipy.special import logsumexp

FINE, COARSE, GRID = 1 << 20, 1 << 13, 1 << 21
REACH = 13  # standard deviations; what is beyond matters to no delta above 1e-30


def log_mixture(z, sigma, q):
    """log(1 - q + q exp((2z-1)/(2 sigma^2)))."""
    t = (2 * z - 1) / (2 * sigma**2)
    if q == 1:
        return t
    near = np.log1p(q * np.expm1(np.minimum(t, 20)))
    return np.where(t > 20, np.log(q) + t + np.log1p((1 - q) / q * np.exp(-np.maximum(t, 0))), near)


def normal_nodes(sigma, low, high, n):
    """Midpoints of n cells, and the log masses of N(0, sigma^2) there."""
    step = (high - low) / n
    z = low + (np.arange(n) + 0.5) * step
    return z, -((z / sigma) ** 2) / 2 - np.log(sigma * np.sqrt(2 * np.pi)) + np.log(step)


class Poisson:
    """The Poisson-sampled Gaussian; direction "remove", "add" or "replace". The last is
    dp_accounting's pair: a record at +1 replaced by one at -1."""

    def __init__(self, sigma, q, direction):
        self.sigma, self.q, self.direction = sigma, q, direction

    def nodes(self, n):
        """Log masses under p, and losses."""
        low = -REACH * self.sigma - (self.direction == "replace")
        z, log_mass = normal_nodes(self.sigma, low, 1 + REACH * self.sigma, n)
        loss = log_mixture(z, self.sigma, self.q)
        return {
            "remove": lambda: (log_mass + loss, loss),
            "add": lambda: (log_mass, -loss),
            "replace": lambda: (log_mass + loss, loss - log_mixture(-z, self.sigma, self.q)),
        }[self.direction]()


class FixedSize:
    """C_q(G_mu) of Dong, Roth & Su 2022 for fixed-size samples under replace-one. Losses
    above 0 are those of the mixture, those below mirror them, the rest is 0."""

    def __init__(self, sigma, q):
        self.sigma, self.q = sigma, q

    def nodes(self, n):
        z, log_mass = normal_nodes(self.sigma, 0.5, 1 + REACH * self.sigma, n)  # losses above 0
        loss = log_mixture(z, self.sigma, self.q)
        some = np.concatenate([log_mass + loss, log_mass])
        rest = np.log(max(1e-300, -np.expm1(logsumexp(some))))
        return np.append(some, rest), np.concatenate([loss, -loss, [0]])


class Laplace:
    """Laplace noise of a scale, for a query of sensitivity 1: two atoms and exp(loss/2)."""

    def __init__(self, scale):
        self.most = 1 / scale

    def nodes(self, n):
        step = 2 * self.most / n
        loss = -self.most + (np.arange(n) + 0.5) * step
        between = (loss - self.most) / 2 + np.log(np.sinh(step / 4))  # each cell's mass
        return np.append(between, [-np.log(2), -self.most - np.log(2)]), np.append(loss, [self.most, -self.most])


class Law:
    """T equal steps, for one delta: K(c) = T log E exp(c L), and what follows from it.

    Large losses whose probability is below a ten-millionth of delta are left out. They
    cannot move delta by more, but could move K(c) a lot."""

    def __init__(self, step, steps, delta):
        self.step, self.steps, self.delta = step, steps, delta
        log_mass, loss = step.nodes(COARSE)
        order = np.argsort(-loss)
        tail = np.cumsum(np.exp(log_mass[order]))
        self.most = loss[order][np.argmax(tail > 1e-7 * delta / steps)]
        self.log_mass, self.loss = self.nodes(COARSE)

    def nodes(self, n):
        log_mass, loss = self.step.nodes(n)
        log_mass, loss = log_mass[loss <= self.most], loss[loss <= self.most]
        return log_mass - logsumexp(log_mass), loss

    def moment(self, c):
        return self.steps * logsumexp(self.log_mass + c * self.loss)

    def mean(self, c):
        """Of the law tilted by c: K'(c)."""
        return self.steps * float(np.exp(self.log_mass + c * self.loss - self.moment(c) / self.steps) @ self.loss)

    def saddle(self, epsilon):
        """The c of the integral for delta(epsilon)."""
        return np.exp(minimum(lambda x: self.moment(np.exp(x)) - np.exp(x) * epsilon - x - np.log1p(np.exp(x))))

    def order(self, epsilon, spare):
        """A c for epsilon. Chernoff's bound is least where rare large losses weigh as much as
        the many small ones, and a window must hold both. exp(spare) above delta, c may be much
        lower, and the window small."""
        excess = lambda x: self.moment(np.exp(x)) - np.exp(x) * epsilon - np.log(self.delta) - spare
        high = minimum(excess)
        return np.exp(brentq(excess, LEAST, high, xtol=1e-3) if excess(LEAST) > 0 > excess(high) else high)

    def chernoff(self):
        """An upper bound of epsilon."""
        bound = lambda x: (self.moment(np.exp(x)) - np.log(self.delta)) / np.exp(x)
        return bound(minimum(bound))

    def window(self, c):
        """The middle and the width of the window that holds the law tilted by c but for e^-40
        each side, by Chernoff's bound."""
        value, mean = self.moment(c), self.mean(c)
        spread = np.sqrt(max(self.mean(c * 1.001) - mean, 1e-30) / (c * 0.001))
        rates = np.geomspace(0.01, 30, 40) / spread
        left, right = (min((self.moment(c + sign * r) - value - sign * r * mean + 40) / r for r in rates) for sign in (-1, 1))
        return mean + (right - left) / 2, left + right


LEAST, MOST = np.log(1e-9), np.log(1e8)  # of log c


def minimum(f):
    """Where f of log c is least."""
    grid = np.linspace(LEAST, MOST, 120)
    start, gap = grid[np.argmin([f(x) for x in grid])], grid[1] - grid[0]
    return minimize_scalar(f, bounds=(start - gap, start + gap), method="bounded").x


def compose(law, c, middle, width, n):
    """Losses around middle, their tilted masses, and the log of what those were divided by."""
    log_mass, loss = law.nodes(FINE)
    h = width / n
    k = np.floor(loss / h)
    upper = np.clip(np.expm1(k * h - loss) / np.expm1(-h), 0, 1)  # the share of k+1
    scale = np.max(log_mass + c * loss)
    pmf = np.zeros(n)
    for at, share in ((k, 1 - upper), (k + 1, upper)):
        pmf += np.bincount(at.astype(np.int64) % n, np.exp(log_mass + c * at * h - scale) * share, n)
    total = pmf.sum()
    with np.errstate(divide="ignore"):
        log_f = np.log(np.fft.rfft(pmf / total))
    mass = np.fft.irfft(np.exp(law.steps * log_f), n)
    index = int(np.floor((middle - width / 2) / h)) + np.arange(n)
    return index * h, mass[index % n], law.steps * (np.log(total) + scale)


def solve(losses, mass, log_scale, c, delta):
    """The epsilon of a tilted composition."""
    reference = log_scale - c * losses[len(losses) // 2]
    weight = mass * np.exp(np.minimum(log_scale - c * losses - reference, 600))
    target = np.exp(np.log(delta) - reference)
    above = np.cumsum(weight[::-1])[::-1]  # of p, and of q times exp(loss):
    below = lfilter([1], [1, -np.exp(losses[0] - losses[1])], weight[::-1])[::-1]
    tail = above - below  # delta at each loss
    low, high = 0, len(losses) - 1
    while high - low > 1:  # the tail falls, where it is above rounding
        at = (low + high) // 2
        low, high = (at, high) if tail[at] > target else (low, at)
    if tail[low] <= target:
        return -np.inf
    return losses[high] + np.log((above[high] - target) / below[high])


def epsilon(step, steps, delta, n=GRID):
    """A bracket of the true epsilon, from the difference between grids of n and n/2 losses."""
    law = Law(step, steps, delta)
    spare = min(12, -np.log(delta) / 2)

    def at(near, size, wider=1):
        c = law.order(near, spare)
        middle, width = law.window(c)
        return float(solve(*compose(law, c, middle, width * wider, size), c, delta))

    near = max(0, at(law.chernoff(), GRID // 8))
    # The rough window is a bit wider, so that the grids share no points.
    fine, rough = at(near, n), at(near, n // 2, 1.0007)
    if not np.isfinite(fine) or not np.isfinite(rough):
        return (0, 0) if max(fine, rough) < 0 else (np.nan, np.nan)
    slack = 1e-8 + 1e-7 * abs(fine)
    return fine - 2 * abs(rough - fine) - slack, fine + slack


def epsilon_by_contour(step, steps, delta, near):
    """The same number, close to near, where an integral converges, or None: delta(eps) is 1/(2 pi i) times
    the integral of E[exp(tL)] exp(-t eps) / (t (t+1)) along Re t = c > 0."""
    law = Law(step, steps, delta)
    c = law.saddle(near)
    _, width = law.window(c)
    value, mean = law.moment(c), law.mean(c) / steps
    tilted = np.exp(law.log_mass + c * law.loss - value / steps)
    gap = 2 * np.pi / max(width, (35 - np.log(delta)) / c)
    parts = []
    for block in range(40):
        u = gap * np.arange(64 * block, 64 * (block + 1))
        f = np.exp(1j * np.outer(u, law.loss - mean)) @ tilted
        parts.append(np.exp(steps * (np.log(f) + 1j * u * mean)) / ((c + 1j * u) * (c + 1 + 1j * u)))
        if np.max(np.abs(parts[-1])) < 1e-11 * abs(parts[0][0]):
            break
    else:
        return None
    integrand = np.concatenate(parts)
    integrand[0] /= 2
    u = gap * np.arange(len(integrand))
    integral = lambda eps: max(1e-300, gap / np.pi * np.sum(integrand * np.exp(-1j * u * eps)).real)
    excess = lambda eps: value - c * eps + np.log(integral(eps)) - np.log(delta)
    low, high = 0.99 * near - 1e-3, 1.01 * near + 1e-3
    if not excess(low) > 0 > excess(high):
        return None
    return float(brentq(excess, low, high, xtol=1e-13, rtol=1e-13))
