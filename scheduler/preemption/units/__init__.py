"""Requests and victims in whole units: what is taken, given back, and given in part (spec 2, document 001)."""
