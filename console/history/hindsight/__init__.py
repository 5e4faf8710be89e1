"""What would the last month have been with a policy? The imported jobs, simulated without Giveway and with it.

Asked, worked off and cancelled as any study (`console.history.studies`); `running.py` is its door.
"""
