"""How the installation itself is doing: the doctor, metrics, health.

May import: `console.notices` and what is below it.
"""
