"""The cycle: observe, record, decide, intend, act, verify."""
