"""The row-by-row part of the interior point method for the hinge loss: compiled, block by block.

Each row has its score z, its dual variable a in (0, 1), and its slacks xi, eta > 0 with
xi - eta = 1 - y z; at the optimum eta a = 0 and xi (1 - a) = 0.
"""

import numpy as np

from kernlab.runtime import REORDERED_SUMS, njit
from kernlab.solvers.hinge.steps import DUAL, LOSS, MULTIPLIERS, N_SUMS, SCORES

EDGE = 1e-13  # how near a may come to 0 and 1 before 1 - a is all rounding
PRODUCTS = N_SUMS  # behind the sums that ADMM takes: sum of c (eta a + xi (1 - a))


@njit
def _direction(dz, y, z, a, xi, eta, centre, bend_a, bend_xi):
    """Changes of a, xi and eta for a change of the score.

    `centre` is what the products eta a and xi (1 - a) should become; `bend_a` and `bend_xi` are the
    products of changes that a first-order step leaves out.
    """
    left, right = centre - eta * a - bend_a, centre - xi * (1.0 - a) + bend_xi
    theta = 1.0 / (xi / (1.0 - a) + eta / a)
    gap = 1.0 - y * z - xi + eta
    da = theta * (gap - y * dz + left / a - right / (1.0 - a))
    return da, (right + xi * da) / (1.0 - a), (left - eta * da) / a


@njit(fastmath=REORDERED_SUMS)
def weigh(codes, positive, weights, z, a, xi, eta, theta, pull, right, sums):
    """What the linear system needs of each row, and the sums that tell how far it is."""
    weighted = len(weights) > 0
    for i in range(len(z)):
        y = 1.0 if codes[i] == positive else -1.0
        c = weights[i] if weighted else 1.0
        margin_gap = 1.0 - y * z[i]
        inverse = xi[i] / (1.0 - a[i]) + eta[i] / a[i]
        theta[i] = c / inverse
        pull[i] = c * y * a[i]
        # To first order without centring, rho = gap - eta + xi, which is 1 - y z.
        right[i] = theta[i] * y * margin_gap
        sums[LOSS] += c * max(0.0, margin_gap)
        sums[DUAL] += c * a[i]
        sums[SCORES] += c * z[i] * z[i]
        sums[MULTIPLIERS] += c * a[i] * a[i]
        sums[PRODUCTS] += c * (eta[i] * a[i] + xi[i] * (1.0 - a[i]))


@njit
def predict(dz, codes, positive, weights, z, a, xi, eta, centring, bending, longest, products):
    """The first-order direction: how far it may go, what the products become, and corrections.

    After steps p of the slacks and d of a the products add up to products . (1, p, d, p d).
    `centring` and `bending` are, of each row, the parts of the next right-hand side that come with
    the centre and with the products of changes.
    """
    weighted = len(weights) > 0
    for i in range(len(z)):
        y = 1.0 if codes[i] == positive else -1.0
        c = weights[i] if weighted else 1.0
        da, dxi, deta = _direction(dz[i], y, z[i], a[i], xi[i], eta[i], 0.0, 0.0, 0.0)
        _limit(longest, a[i], da, xi[i], dxi, eta[i], deta)
        theta = 1.0 / (xi[i] / (1.0 - a[i]) + eta[i] / a[i])
        centring[i] = c * y * theta * (1.0 / a[i] - 1.0 / (1.0 - a[i]))
        bending[i] = -c * y * theta * (da * deta / a[i] + da * dxi / (1.0 - a[i]))
        products[0] += c * (eta[i] * a[i] + xi[i] * (1.0 - a[i]))
        products[1] += c * (deta * a[i] + dxi * (1.0 - a[i]))
        products[2] += c * da * (eta[i] - xi[i])
        products[3] += c * da * (deta - dxi)


@njit
def measure_step(dz, first, centre, codes, positive, z, a, xi, eta, longest):
    """How far the corrected direction may go."""
    for i in range(len(z)):
        y = 1.0 if codes[i] == positive else -1.0
        da, dxi, deta = _direction(first[i], y, z[i], a[i], xi[i], eta[i], 0.0, 0.0, 0.0)
        da, dxi, deta = _direction(dz[i], y, z[i], a[i], xi[i], eta[i], centre, da * deta, da * dxi)
        _limit(longest, a[i], da, xi[i], dxi, eta[i], deta)


@njit
def move(dz, first, centre, steps, codes, positive, z, a, xi, eta):
    """Go along the corrected direction: scores and slacks by one step length, a by the other."""
    for i in range(len(z)):
        y = 1.0 if codes[i] == positive else -1.0
        da, dxi, deta = _direction(first[i], y, z[i], a[i], xi[i], eta[i], 0.0, 0.0, 0.0)
        da, dxi, deta = _direction(dz[i], y, z[i], a[i], xi[i], eta[i], centre, da * deta, da * dxi)
        z[i] += steps[0] * dz[i]
        xi[i] += steps[0] * dxi
        eta[i] += steps[0] * deta
        a[i] = min(max(a[i] + steps[1] * da, EDGE), 1.0 - EDGE)


@njit
def _limit(longest, a, da, xi, dxi, eta, deta):
    """Shorten the longest steps (of the slacks, of a) so that this row stays inside."""
    if dxi < 0.0:
        longest[0] = min(longest[0], -xi / dxi)
    if deta < 0.0:
        longest[0] = min(longest[0], -eta / deta)
    if da < 0.0:
        longest[1] = min(longest[1], -a / da)
    if da > 0.0:
        longest[1] = min(longest[1], (1.0 - a) / da)


def begin(scores, y):
    """Dual variables and slacks to start from: well inside, and equal for equal margins."""
    gap = 1.0 - y * scores
    xi = np.maximum(gap, 0.0) + 5.0
    return np.full(len(y), 0.5), xi, xi - gap
