"""Replaying a recorded workload under several policies: no clock, no chance, no files; bytes in, figures out."""
