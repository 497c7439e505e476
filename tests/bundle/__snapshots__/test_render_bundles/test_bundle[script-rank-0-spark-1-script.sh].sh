#!/bin/bash
ulimit -n 4096
exec vllm serve org/model-a | tee /tmp/log
