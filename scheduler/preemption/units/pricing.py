"""What room on one node costs where running jobs hold units, or are elastic: they may lose a part and go on."""

from collections.abc import Iterable

from scheduler.model.resources import Amounts
from scheduler.preemption import pricing
from scheduler.preemption.candidates import Candidate
from scheduler.preemption.multi_node_search import MadeRoom
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.pricing import FREE, Loss, Price, missing
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.shapes import Shape
from scheduler.preemption.units.giving_back import give_back, price_of
from scheduler.preemption.units.trials import PiecesOn


def price(place: NodeState, shape: Shape, candidates: Iterable[Candidate], *, whole: bool) -> Price | None:
    """As `pricing.price`, with what is left over given back in pieces (`giving_back`).

    `candidates`: of those on the node, the ones that may be stopped and still hold something there.
    """
    if shape.exclusive:
        return _emptied(place, shape, candidates, whole=whole)
    short = missing(place, shape)
    if not short:
        return FREE
    taken = pricing.take(short, candidates)
    return None if taken is None else chosen(place, taken, short, whole=whole)


def chosen(place: NodeState, taken: list[Candidate], short: dict[str, int], *, whole: bool) -> Price:
    """As `pricing.chosen`."""
    if not any(c[4].pieces for c in taken):
        return pricing.chosen(place, taken, short)
    stopped, losses = _left_over(place, taken, short, whole=whole)
    return _price_here(taken, stopped, losses)


def _price_here(taken: Iterable[Candidate], stopped: list[RunningJob], losses: list[Loss]) -> Price:
    """The same as `price_of`, for those taken on one node: what each of them costs is known already."""
    known = {c[4]: c for c in taken}
    victims = [known[runner] for runner in stopped]
    for runner, _, count in losses:
        own_class, cost_in, ran, order, _, gives = known[runner]
        held = runner.pieces.held if runner.pieces else 1
        victims.append((own_class, cost_in * count // held, ran, order, runner, gives))
    victims.sort(reverse=True)  # no two have the same order, so nothing behind it is compared
    cost, runners, _, _, _ = pricing.priced(victims)
    return Price(cost, runners, 0, tuple(losses))


def _emptied(place: NodeState, shape: Shape, candidates: Iterable[Candidate], *, whole: bool) -> Price | None:
    """A node that must be empty: everybody goes from it, some of them without being stopped."""
    here = list(candidates)
    known = pricing.price(place, shape, here)
    if known is None or not any(runner.pieces for runner in known.victims):
        return known
    trial = PiecesOn((place,), shape)
    for candidate in here:
        trial.stop(candidate[4])
    stopped, losses = give_back(trial, [c[4] for c in here], whole=whole)
    return price_of(stopped, losses, {c[4]: c[0] for c in here}, shape.cost_in)


def _left_over(
    place: NodeState, taken: list[Candidate], short: dict[str, int], *, whole: bool
) -> tuple[list[RunningJob], list[Loss]]:
    """The same as `give_back`, worked out directly: on one node, pieces of equal size make it a division.

    `short`: what is missing with all of them gone; below zero by what is left over.
    """
    name, stopped, losses = place.node.name, list[RunningJob](), list[Loss]()
    left = [c for c in reversed(taken) if not _back(c[5], 1, short)] if whole else reversed(taken)
    for candidate in left:
        runner, gives, pieces = candidate[4], candidate[5], candidate[4].pieces
        if pieces is None:
            if not _back(gives, 1, short):
                stopped.append(runner)
            continue
        each, count = pieces.each[name], pieces.counts[name]
        back = _back(each, count, short)
        if back == count:
            continue
        if pieces.held - count + back < pieces.least:
            _add(each, -back, short)
            stopped.append(runner)
        else:
            losses.append((runner, name, count - back))
    return stopped, losses


def _back(each: Amounts, most: int, short: dict[str, int]) -> int:
    """How many pieces, of so many, fit into what is left over; they are given back."""
    for name, rest in short.items():
        amount = each.get(name)
        if amount and amount * most > -rest:
            most = -rest // amount
    if most:
        _add(each, most, short)
    return most


def _add(each: Amounts, times: int, short: dict[str, int]) -> None:
    for name in short:
        short[name] += each.get(name, 0) * times


def settled(room: MadeRoom, shape: Shape, scope: PreemptionScope, *, whole: bool) -> MadeRoom:
    """A room on several nodes whose victims were chosen as wholes, with what is left over given back in pieces."""
    victims = room.price.victims[::-1]
    if not any(runner.pieces for runner in victims):
        return room
    trial = PiecesOn(room.places, shape)
    for runner in victims:
        trial.stop(runner)
    stopped, losses = give_back(trial, victims, whole=whole)
    classes = {runner: scope.class_of(runner.first, runner.second) or 0 for runner in victims}
    return MadeRoom(room.places, price_of(stopped, losses, classes, shape.cost_in))
