"""Starting it all on one machine: the `run` command and the demo."""
