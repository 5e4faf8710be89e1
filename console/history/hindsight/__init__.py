"""What would the last month have been with a policy? Finished jobs, simulated without Giveway and with it.

May import: the rest of `console.history`, and what that may.
"""
