"""What is left over goes back to those it was taken from, and nobody loses more than is needed (spec 2.2, 2.4).

Whoever was walked is gone from a room on trial; the highest of them come first:
1. Who runs as a whole or not at all gets all of it back, if it fits.
2. Who holds units, or is elastic, gets back as many pieces as fit: first those that nobody could use, then on
   the nodes where most fit. Who would fall below its minimum gets nothing back: it is stopped. Who is below it already
   goes on if it loses nothing.
3. `whole` (a partition's choice): first everybody, in the same order, who can keep all; then 1 and 2. The running tasks
   of a group are one of these: it keeps all of them, or loses as few as need be.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from scheduler.model.resources import Amounts
from scheduler.preemption.candidates import loss_of
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.pricing import Loss, Price, priced
from scheduler.preemption.trials import needed
from scheduler.preemption.units.trials import PieceTrial, most

_NOTHING: Amounts = {}


def give_back(
    trial: PieceTrial, walked: Sequence[RunningJob], *, whole: bool
) -> tuple[list[RunningJob], list[Loss]]:
    """Who must be stopped, and what others lose. `walked`: the first to go first, all of them gone on the trial."""
    stopped: list[RunningJob] = []
    losses: list[Loss] = []
    for runner in _not_whole(trial, walked) if whole else list(reversed(walked)):
        if runner.pieces is None:
            stopped.extend(needed(trial, [runner]))
            continue
        lost = _pieces(trial, runner)
        number = sum(lost.values())
        if number and runner.pieces.held - number < runner.pieces.least:
            for place in runner.places:
                trial.pieces(runner, place, runner.pieces.counts[place.node.name] - lost[place.node.name])
            stopped.append(runner)
        else:
            losses.extend((runner, node, count) for node, count in lost.items() if count)
    return stopped, losses


def _not_whole(trial: PieceTrial, walked: Sequence[RunningJob]) -> list[RunningJob]:
    """Point 3: those who cannot keep all, the last one walked first. All tasks of a group are left alone, or none."""
    together: dict[object, list[RunningJob]] = {}
    for runner in reversed(walked):
        together.setdefault(runner.job.group or runner, []).append(runner)
    result = []
    for runners in together.values():
        for runner in runners:
            trial.restore(runner)
        if not trial.enough():
            for runner in runners:
                trial.stop(runner)
            result += runners
    return result


def price_of(
    stopped: Iterable[RunningJob], losses: Iterable[Loss], classes: Mapping[RunningJob, int], cost_in: str
) -> Price:
    """What some stops and losses cost; whoever loses a part of its pieces counts for that part.

    `classes`: of all of them, for the pending job in question.
    """
    lost: dict[RunningJob, int] = {}
    for runner, _, count in losses:
        lost[runner] = lost.get(runner, 0) + count
    victims = []
    for runner in {**dict.fromkeys(stopped), **lost}:
        part = loss_of(runner, cost_in)
        if runner in lost and runner.pieces:
            part = part * lost[runner] // runner.pieces.held
        victims.append((classes[runner], part, runner.ran, runner.order, runner, _NOTHING))
    victims.sort(key=lambda victim: victim[:4], reverse=True)
    return priced(victims)._replace(losses=tuple(losses))


def _pieces(trial: PieceTrial, runner: RunningJob) -> dict[str, int]:
    """Point 2: what it loses on each of its nodes."""
    lost = dict(runner.pieces.counts) if runner.pieces else {}
    if _all_back(trial, runner, lost):
        return dict.fromkeys(lost, 0)
    spare = trial.spare()
    for place in runner.places:
        _give(trial, runner, place, lost, lambda: trial.spare() == spare)

    def fit(place: NodeState) -> int:
        name = place.node.name
        before = dict(lost)
        _give(trial, runner, place, lost, lambda: True)
        back = before[name] - lost[name]
        trial.pieces(runner, place, back)
        lost[name] = before[name]
        return back

    left = [place for place in runner.places if lost[place.node.name]]
    for place in sorted(left, key=lambda place: (-fit(place), place.order)) if len(left) > 1 else left:
        _give(trial, runner, place, lost, lambda: True)
    return lost


def _all_back(trial: PieceTrial, runner: RunningJob, lost: dict[str, int]) -> bool:
    """Give back all that was lost, if that leaves enough: most of many who were walked were not needed."""
    for place in runner.places:
        trial.pieces(runner, place, -lost[place.node.name])
    if trial.enough():
        return True
    for place in runner.places:
        trial.pieces(runner, place, lost[place.node.name])
    return False


def _give(
    trial: PieceTrial, runner: RunningJob, place: NodeState, lost: dict[str, int], allowed: Callable[[], bool]
) -> None:
    """Give back as many of the pieces lost on a node as leave it enough, and are allowed."""
    name = place.node.name

    def fits(count: int) -> bool:
        trial.pieces(runner, place, -count)
        good = trial.enough() and allowed()
        trial.pieces(runner, place, count)
        return good

    back = most(lost[name], fits, whole=trial.exclusive)
    trial.pieces(runner, place, -back)
    lost[name] -= back
