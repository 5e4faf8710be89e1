"""Atoms: the run times that a job may have, each with figures of how alike the job is that had it.

The atoms of a job are the run times of ended jobs alike, cut at its limit, and a few fixed ones (`GRID`, shares of
the limit) so that somebody without a past has atoms, too. All in log seconds; axes are jobs, atoms, figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.forecast.history import (
    ABSENT,
    CPUS,
    END,
    LIMIT,
    MOST_ALIKE,
    POOLS,
    RUNTIME,
    SUBMIT,
    Floats,
    PastView,
    RunHistory,
)

GRID = np.log([2.0, 8, 30, 120, 500, 1800, 7200, 28800, 86400, 259200])
SHARES = np.log([1.0, 0.5, 0.15])
FIXED = len(GRID) + len(SHARES)
PRIOR = np.array([1.0, 8, 3, 2, 4, 2, 0, 0.2, 0.05, 0.005, 0.005])
"""How much a pool counts before anything is learned, and halved every two jobs back."""
COMMAND_PRIOR = 4.0
"""The same of the pool of the user and command."""
COMMAND_FIGURES = 3
"""Figures of likeness by command; they stand apart, so that without commands nothing is other than it was."""
FAINT = 1e-3
NO_LIMIT = 20.0
"""Log seconds; a limit above it is none."""

Singles = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Atoms:
    """`x` (jobs, atoms) log seconds, `real` which of them exist, `figures` (jobs, atoms, figures), `prior` weights.

    `commands` (jobs, atoms, `COMMAND_FIGURES`): likeness by command; None where nobody alike is known by it.
    """

    x: Floats
    real: NDArray[np.bool_]
    figures: Singles
    prior: Floats
    limit: Floats
    commands: Singles | None = None

    def __len__(self) -> int:
        return len(self.x)


def atoms_of(history: RunHistory, looks: Sequence[PastView]) -> Atoms:
    """The atoms of several jobs. The history may have grown since the looks: what they name does not change."""
    alike = np.stack([look.alike for look in looks])
    ranks = np.stack([look.ranks for look in looks])
    facts = np.array([(look.limit, look.cpus, look.submit) for look in looks])
    context = np.stack([look.context for look in looks])
    rows = history.rows(alike)
    limit = facts[:, :1]
    known = alike >= 0
    x = np.minimum(rows[:, :, RUNTIME], limit)
    # Not in bytes, which have no negative numbers.
    decay = np.where(ranks == ABSENT, 0.0, 2.0 ** (-0.5 * ranks))
    prior = decay @ PRIOR * known
    commands = _by_command(looks)
    if commands is not None:
        prior += COMMAND_PRIOR * commands[:, : prior.shape[1], 2] * known
    parts = (_places(ranks, decay, prior), _distances(rows, facts), _values(x, known, limit, context))
    unused = np.zeros((*x.shape, FIXED))
    figures = np.concatenate([*parts, unused], axis=2, dtype=np.float32)
    fixed_x, fixed_real, fixed_figures = _fixed(limit, FIGURES - FIXED, context)
    return Atoms(
        np.concatenate([x, fixed_x], axis=1),
        np.concatenate([known, fixed_real], axis=1),
        np.concatenate([figures, fixed_figures], axis=1),
        np.concatenate([prior, np.full(fixed_x.shape, 1e-6) * fixed_real], axis=1),
        limit,
        commands,
    )


def _by_command(looks: Sequence[PastView]) -> Singles | None:
    """Whether a job alike had the same command, how far back it is, and how much that counts."""
    if all(look.by_command is None for look in looks):
        return None
    nowhere = np.full(MOST_ALIKE, ABSENT, np.uint8)
    ranks = np.stack([nowhere if look.by_command is None else look.by_command for look in looks])
    there = ranks != ABSENT
    figures = np.zeros((len(looks), MOST_ALIKE + FIXED, COMMAND_FIGURES), np.float32)
    figures[:, :MOST_ALIKE, 0] = there
    figures[:, :MOST_ALIKE, 1] = np.where(there, 1 - np.log1p(ranks.astype(float)) / 4, 0)
    figures[:, :MOST_ALIKE, 2] = np.where(there, 2.0 ** (-0.5 * ranks), 0)
    return figures


def _places(ranks: NDArray[np.uint8], decay: Floats, prior: Floats) -> Floats:
    """In which pools a job alike is, and how far back."""
    there = ranks != ABSENT
    back = np.where(there, np.log1p(ranks.astype(float)) / 4, 1.0)
    log_prior = np.log(prior + FAINT)[:, :, None] / 4
    return np.concatenate([there, back, decay[:, :, :6], log_prior], axis=2)


def _distances(rows: Floats, facts: Floats) -> Floats:
    """How far a job alike is in time, limit and CPUs."""
    limit, cpus, submit = (facts[:, column, None] for column in range(3))
    since_end = np.maximum(submit - rows[:, :, END], 0)
    since_submit = np.maximum(submit - rows[:, :, SUBMIT], 0)
    hours = np.abs((since_submit / 3600 + 12) % 24 - 12)
    longer = np.clip(limit - rows[:, :, LIMIT], -3, 3) / 3
    wider = np.clip(cpus - rows[:, :, CPUS], -4, 4) / 4
    return np.stack(
        [
            np.log1p(since_end) / 10, np.log1p(since_submit) / 10, since_submit < 60, hours / 12,
            np.abs(longer), longer, np.abs(wider), wider,
        ],
        axis=2,
    )  # fmt: skip


def _values(x: Floats, known: NDArray[np.bool_], limit: Floats, context: Floats) -> Floats:
    """The run time itself beside the limit, the running twins, and the other run times."""
    limited = limit < NO_LIMIT
    room = np.where(limited, limit - x, 8.0)
    short = x.astype(np.float32)
    agreeing = (np.abs(short[:, :, None] - short[:, None, :]) < 0.1) & known[:, None, :]
    beside_twins = [
        np.clip(x - np.where(ran > 0, np.log1p(np.maximum(ran, 0)), -2.0), -3, 3) / 3
        for ran in (context[:, 2, None], context[:, 3, None])
    ]
    own = [
        np.clip(room, 0, 8) / 8, limited & (room < 0.02), x / 12, x < np.log(20),
        np.log1p(agreeing.sum(axis=2)) / 4, np.clip(np.abs(x - x[:, :1]), 0, 4) / 4,
    ]  # fmt: skip
    shared = [np.broadcast_to(column[:, None], x.shape) for column in _shared(context).T]
    return np.stack([*beside_twins, *own, *shared], axis=2)


def _shared(context: Floats) -> Floats:
    return np.asarray(np.log1p(context[:, [1, 0, 4, 5]]) / 4)


def _fixed(limit: Floats, width: int, context: Floats) -> tuple[Floats, NDArray[np.bool_], Singles]:
    """The atoms that everybody has; each has a figure of its own, so that its weight can be learned."""
    jobs = len(limit)
    limited = limit < NO_LIMIT
    x = np.concatenate([np.broadcast_to(GRID, (jobs, len(GRID))), np.maximum(limit + SHARES, 0)], axis=1)
    real = np.concatenate([limit > GRID, np.broadcast_to(limited, (jobs, len(SHARES)))], axis=1)
    figures = np.zeros((jobs, FIXED, width + FIXED), np.float32)
    figures[:, :, width:] = np.eye(FIXED)
    shared = _shared(context)
    figures[:, :, width - shared.shape[1] : width] = shared[:, None, :]
    return x, real, figures


FIGURES = 2 * len(POOLS) + 6 + 1 + 8 + 8 + 4 + FIXED
