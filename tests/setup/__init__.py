"""The first minutes of an installation."""
