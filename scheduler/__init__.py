"""Giveway's planning core: facts about a cluster in, a plan out. No Django; I/O only in `adapters` and `__main__`.

May import: the standard library and ClusterShell; never the console.
"""
