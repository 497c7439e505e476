#!/bin/sh
# On a Spark the page cache and the GPU share one memory: weights that were read once stay there twice.
set -eu
exec python3 ./start_once.py python3 ./loop.py
