#!/bin/bash
#SBATCH --job-name=elastic_sum
#SBATCH --array=1-4
#SBATCH --ntasks=1
#SBATCH --requeue
#SBATCH --comment="elastic:min=2,wish=4"
# Workers that may come and go: they add up the squares of 1 to 400 in 40 pieces. docs/elastic-jobs.md
#
# A piece is taken by making a folder, which only one can; it is done once its result has its final name. Who finds the
# piece of a worker that is gone (its claim is older than a piece takes) does it again: the result is the same.
set -u
shared="${ELASTIC_FOLDER:-$PWD/elastic_sum_${SLURM_ARRAY_JOB_ID:-test}}"
pieces="${ELASTIC_PIECES:-40}" pause="${ELASTIC_SECONDS:-1}" stale="${ELASTIC_STALE_S:-20}"
mkdir -p "$shared"

# The checkpoint signal: finish nothing, give the claim back, and leave the rest to the others.
piece=""
leave() {
    [ -n "$piece" ] && rmdir "$shared/claim.$piece" 2>/dev/null
    piece=""
    waits=1
}
waits=0
trap leave USR1

claim() {
    mkdir "$shared/claim.$1" 2>/dev/null && return 0
    local age
    age=$(($(date +%s) - $(stat -c %Y "$shared/claim.$1" 2>/dev/null || date +%s)))
    [ "$age" -gt "$stale" ] && rmdir "$shared/claim.$1" 2>/dev/null && mkdir "$shared/claim.$1" 2>/dev/null
}

compute() {
    local sum=0 n
    for ((n = ($1 - 1) * 10 + 1; n <= $1 * 10; n++)); do sum=$((sum + n * n)); done
    sleep "$pause" &
    wait $!
    [ "$waits" = 1 ] && return
    echo "$sum" > "$shared/.result.$1.$$" && mv "$shared/.result.$1.$$" "$shared/result.$1"
}

left=1
while [ "$left" -gt 0 ]; do
    left=0
    for ((number = 1; number <= pieces; number++)); do
        # After the signal nothing new is begun: Giveway stops this worker in a moment.
        while [ "$waits" = 1 ]; do sleep 60 & wait $!; done
        [ -e "$shared/result.$number" ] && continue
        left=$((left + 1))
        claim "$number" || continue
        piece=$number
        compute "$number"
        [ -n "$piece" ] && rmdir "$shared/claim.$piece" 2>/dev/null
        piece=""
    done
    [ "$left" -gt 0 ] && sleep 0.2
done
cat "$shared"/result.* | awk '{ sum += $1 } END { print "sum " sum }'
