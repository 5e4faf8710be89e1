"""What room on one node costs where running jobs hold units, or are elastic: they may lose a part and go on."""

from collections.abc import Iterable

from scheduler.preemption import pricing
from scheduler.preemption.candidates import Candidate
from scheduler.preemption.pricing import FREE, Price, missing
from scheduler.preemption.ranking import Reach
from scheduler.preemption.several import Room
from scheduler.preemption.shapes import Shape
from scheduler.preemption.trials import Places
from scheduler.preemption.units.giving_back import give_back, price_of
from scheduler.preemption.universe import Place


def price(place: Place, shape: Shape, candidates: Iterable[Candidate], *, whole: bool) -> Price | None:
    """As `pricing.price`, with what is left over given back in pieces (`giving_back`)."""
    here = [c for c in candidates if c[4].may_go and (c[4].pieces is None or place in c[4].places)]
    if shape.exclusive:
        taken = here if pricing.price(place, shape, here) else []
    else:
        short = missing(place, shape)
        if not short:
            return FREE
        taken = pricing.take(short, here) or []
    if not taken:
        return pricing.price(place, shape, here)
    if not any(c[4].pieces for c in taken):
        return pricing.price(place, shape, taken)
    trial = Places((place,), shape)
    for candidate in taken:
        trial.stop(candidate[4])
    stopped, losses = give_back(trial, [c[4] for c in taken], whole=whole)
    classes = {c[4]: c[0] for c in taken}
    return price_of(stopped, losses, classes, shape.harm)


def settled(room: Room, shape: Shape, reach: Reach, *, whole: bool) -> Room:
    """A room on several nodes whose victims were chosen as wholes, with what is left over given back in pieces."""
    victims = room.price.victims[::-1]
    if not any(runner.pieces for runner in victims):
        return room
    trial = Places(room.places, shape)
    for runner in victims:
        trial.stop(runner)
    stopped, losses = give_back(trial, victims, whole=whole)
    classes = {runner: reach.class_of(runner.first, runner.second) or 0 for runner in victims}
    return Room(room.places, price_of(stopped, losses, classes, shape.harm))
