#!/bin/sh
# Gives the node its accounts, and the login user's home what a new home has. Run again after a change of the login.
set -eu
for file in passwd group shadow; do
  cat "/lab/node/$file" >"/etc/$file"
done
read -r home </lab/node/home
mkdir -p "$home"
cat /lab/node/bashrc >"$home/.bashrc"
chown spark:spark "$home" "$home/.bashrc"
chmod 750 "$home"
