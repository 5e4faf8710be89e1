"""Measurements of speed and memory; nothing here is a test. Figures are kept in docs/benchmarks.md."""
