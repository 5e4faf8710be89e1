"""The pages about projects."""
