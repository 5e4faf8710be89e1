"""What steering tells the apps above it.

`observed` is sent at the end of every cycle that saw the whole cluster, with `cluster` (its row) and `observation`.
What a listener raises is logged and changes nothing for the cycle.
"""

from django.dispatch import Signal

observed = Signal()
