"""Attacks that succeeded once, one file for each that was seen; each is made on a running server, and fails now."""
