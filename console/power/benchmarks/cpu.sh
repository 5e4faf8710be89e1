#!/bin/sh
# The same work on every processor of the node at once, as a synchronous job would do it. The slowest one decides.
# A site may put its own in its place (GIVEWAY_BENCHMARK_CPU): whatever it prints as seconds=… counts, else its whole time.
work() {
    awk 'BEGIN { x = 0.5; for (i = 0; i < 6000000; i++) x = 3.9 * x * (1 - x); if (x < 0) print x }'
}
started=""
for _ in $(seq "$(nproc)"); do
    work &
    started="$started $!"
done
for pid in $started; do
    wait "$pid" || exit 1
done
