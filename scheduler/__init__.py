"""Giveway's planning core: facts about a cluster in, a plan out. No Django; I/O only in `adapters` and `__main__`."""
