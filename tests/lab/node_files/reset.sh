#!/bin/sh
# Brings a node's files back to how they were when it started. Its containers have been removed before.
set -u
while umount --lazy "$(findmnt -n -o TARGET -S sparkc-lab-full | head -n 1)" 2>/dev/null; do :; done
# What the login user left running, sshd's processes for the user among them.
pkill -KILL -u spark
set -e
find /home /tmp -mindepth 1 -delete
sh /lab/node/login.sh
