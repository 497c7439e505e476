#!/bin/sh
# The whole node's caches, those of other programs included: /proc/sys has no smaller switch.
set -eu
switch=/proc/sys/vm/drop_caches
if ! [ -w "$switch" ]; then
    echo "drop-caches-privileged: cannot write $switch: the container is not privileged" >&2
    exit 1
fi
exec python3 ./start_once.py sh ./loop.sh "$switch"
