"""Starting it all on one machine: the `run` command, the embedded worker, the demonstration.

May import: `console.needs` and what is below it; the simulator, whose user it is.
"""
