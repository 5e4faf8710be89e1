"""What a person has to act on, of everything that the apps below know: one list, for the overview and the API.

May import: `console.people` and what is below it. It has no models and writes nothing.
"""
