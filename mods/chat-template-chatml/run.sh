#!/bin/sh
# The engine starts in WORKSPACE_DIR, so a bare file name finds what is copied there.
set -eu
cp chatml.jinja "$WORKSPACE_DIR/chatml.jinja"
echo "chat-template-chatml: installed $WORKSPACE_DIR/chatml.jinja"
