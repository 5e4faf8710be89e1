#!/bin/bash
#SBATCH --job-name=train
#SBATCH --requeue
#SBATCH --open-mode=append
#
# A job that saves its state when Giveway asks for it, says so, and goes on from there after it was requeued.
# docs/checkpoints.md explains it. Put your own work in the place of `sleep`, your own state in the place of a number.
#
# Settings, from the environment: EPOCHS, EPOCH_S, STATE_DIR; GIVEWAY_URL and GIVEWAY_TOKEN_FILE to answer over the API.

set -u -f
epochs=${EPOCHS:-100}
epoch_s=${EPOCH_S:-60}
run=${SLURM_RESTART_COUNT:-0}
# The id by which commands know this job: a task of an array goes by the array's.
job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID:-}}
job=${job:-$SLURM_JOB_ID}
state=${STATE_DIR:-${SLURM_SUBMIT_DIR:-.}}/state.$job

epoch=0
if [ "$run" -gt 0 ] && [ -s "$state" ]; then
    epoch=$(<"$state")
fi

# Whole or not at all: half a state is worse than an old one.
save() {
    echo "$epoch" >"$state.new" && mv "$state.new" "$state"
}

# Giveway stops the job as soon as all who were asked have answered, instead of waiting for the end of the grace time.
# The run's number makes each answer a new word, also when no epoch was finished in between.
acknowledge() {
    local saved="epoch=$epoch,run=$run"
    if [ -n "${GIVEWAY_URL:-}" ] && [ -r "${GIVEWAY_TOKEN_FILE:-}" ]; then
        tell_giveway "$saved" && return
    fi
    write_comment "$saved"
}

# The token goes in by the standard input: an argument could be read by everybody on the node.
tell_giveway() {
    printf '{"token": "%s", "job_id": "%s", "saved": "%s"}' "$(<"$GIVEWAY_TOKEN_FILE")" "$job" "$1" |
        curl --silent --show-error --fail --max-time 10 --output /dev/null \
            --header 'Content-Type: application/json' --data @- "${GIVEWAY_URL%/}/api/v1/checkpoints/"
}

# Your own words in the comment stay (it may name your project); only the last answer gives way to the new one.
write_comment() {
    local word words=()
    for word in $(timeout 20 squeue --noheader --jobs="$job" --format=%k); do
        case $word in
            ckpt:* | '(null)') ;;
            *) words+=("$word") ;;
        esac
    done
    words+=("ckpt:$1")
    timeout 20 scontrol update "JobId=$job" "Comment=${words[*]}"
}

ended=
trap 'heard=yes; save && acknowledge' USR1 # the partition's checkpoint signal
trap 'ended=yes' TERM                      # Slurm's own, just before it kills the job

# In the background, because the shell hears a signal only between two commands, and while it waits.
work() {
    sleep "$epoch_s" &
    local child=$!
    while :; do
        heard=
        wait "$child"
        status=$?
        if [ -n "$ended" ]; then
            save
            exit 143
        fi
        # When the signal was heard meanwhile, only the waiting has ended (with a status above 128), not the work.
        [ -n "$heard" ] && [ "$status" -gt 128 ] || break
    done
}

echo "run $run begins after epoch $epoch"
while [ "$epoch" -lt "$epochs" ]; do
    work
    if [ "$status" -ne 0 ]; then
        sleep 1 # the end of the whole job reaches the work a moment before it reaches us
        [ -n "$ended" ] && save && exit 143
        echo "epoch $((epoch + 1)) failed with status $status" >&2
        exit 1
    fi
    epoch=$((epoch + 1))
    echo "epoch $epoch done"
done
rm -f "$state"
echo "finished"
