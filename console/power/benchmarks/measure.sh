#!/bin/sh
# Giveway measures the processors of this node, one after the other. Each result is told to the console at once; when
# the console does not answer, or says so, this job ends, in the middle of a benchmark too.
url='@URL@'
token='@TOKEN@'
devices=@DEVICES@
every=@EVERY@

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM
echo '@BENCHMARK@' | base64 -d > "$work/benchmark"
chmod 700 "$work/benchmark"

# What it says goes through a file: the token must not stand in the list of processes.
tell() {
    said="$work/$2"
    printf '%s' "$1" > "$said"
    if command -v curl > /dev/null 2>&1; then
        curl -sf -m 20 -H 'Content-Type: application/json' -d "@$said" "$url/api/v1/measurements/"
    else
        python3 - "$url/api/v1/measurements/" "$said" <<'END'
import sys, urllib.request
request = urllib.request.Request(sys.argv[1], open(sys.argv[2], "rb").read(), {"Content-Type": "application/json"})
print(urllib.request.urlopen(request, timeout=20).read().decode())
END
    fi
}
# While a benchmark runs: whether somebody still looks after it. Three times in a row without an answer, and nobody does.
look() {
    missed=0
    while [ "$missed" -lt 3 ] && sleep "$every"; do
        case "$(tell "{\"token\": \"$token\", \"device\": $device, \"asks\": true}" asked 2> /dev/null)" in
            *'"go_on":true'*) missed=0 ;;
            *'"go_on":false'*) missed=3 ;;
            *) missed=$((missed + 1)) ;;
        esac
    done
    kill -TERM "$$"
}
word() {
    sed -n "s/^$1=//p" "$work/out" | tail -n 1 | tr -cd 'A-Za-z0-9._ :/-' | cut -c 1-60
}

device=0
while [ "$device" -lt "$devices" ]; do
    export GIVEWAY_DEVICE="$device" CUDA_VISIBLE_DEVICES="$device" ROCR_VISIBLE_DEVICES="$device"
    began=$(date +%s.%N)
    "$work/benchmark" > "$work/out" 2> "$work/err" &
    running=$!
    look &
    looking=$!
    wait "$running"
    code=$?
    ended=$(date +%s.%N)
    kill "$looking" 2> /dev/null
    if [ "$code" -ne 0 ]; then
        why=$(tail -n 1 "$work/err" | tr -cd 'A-Za-z0-9._ :/-' | cut -c 1-200)
        tell "{\"token\": \"$token\", \"device\": $device, \"failed\": \"exit code $code: $why\"}" told
        exit 1
    fi
    seconds=$(word seconds)
    [ -n "$seconds" ] || seconds=$(awk "BEGIN { printf \"%.6f\", $ended - $began }")
    result="\"seconds\": $seconds, \"driver\": \"$(word driver)\", \"firmware\": \"$(word firmware)\""
    answer=$(tell "{\"token\": \"$token\", \"device\": $device, $result}" told) || exit 1
    case "$answer" in
        *'"go_on":true'*) ;;
        *) exit 0 ;;
    esac
    device=$((device + 1))
done
