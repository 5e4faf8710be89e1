"""The document's formula (¶182, ¶196): a project's size, grade and urgency as one number."""


def user_score(size: float, grade: float, urgency: float) -> float:
    """`size / grade * urgency`: what a project's members score. All three above 0; grade 1 is the best."""
    for name, value in (("size", size), ("grade", grade), ("urgency", urgency)):
        _positive(name, value)
    return size / grade * urgency


def task_score(size: float, grade: float, urgency: float, importance: float = 1.0) -> float:
    """`size / grade * urgency * importance`: what a project's task scores. `importance` above 0."""
    _positive("importance", importance)
    return user_score(size, grade, urgency) * importance


def _positive(name: str, value: float) -> None:
    if not value > 0:
        raise ValueError(f"{name} must be above 0, not {value}")
