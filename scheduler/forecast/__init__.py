"""How long jobs will run, from those that have ended: no clock, no chance, no files (docs/methods/forecast.md).

May import: `scheduler.contracts` (and numpy).
"""

import os

# Forecasts are products of small matrices. OpenBLAS would give each a thread per processor, and they wait for each
# other longer than they compute. numpy reads this when it is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
