"""Scores of users and tasks (document 000, ¶182, ¶196)."""


def user_score(size: float, grade: float, urgency: float) -> float:
    """size / grade * urgency; every part is above zero and grade 1 is the best (¶182)."""
    return size / grade * urgency


def task_score(size: float, grade: float, urgency: float, importance: float = 1.0) -> float:
    """size / grade * urgency * importance (¶67, ¶196)."""
    return user_score(size, grade, urgency) * importance
