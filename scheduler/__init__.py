"""Giveway's planning core: facts about a cluster in, a plan out. No Django, no I/O outside `adapters` and `__main__`."""
