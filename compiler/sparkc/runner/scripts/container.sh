# Finds the container of BUNDLE's rank RANK: where Docker's program is, and the container's id and state.
section docker
command -v docker || return 10
section container
timeout 60 docker ps --all --no-trunc --filter "label=sparkc.bundle=$BUNDLE" --filter "label=sparkc.rank=$RANK" \
  --format '{{.ID}} {{.State}}' 2>&1
