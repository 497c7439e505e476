# Prints the log of BUNDLE's container with time stamps, after a line with the node's clock and the container's id, or
# `-` without one. TAIL is a number of lines or `all`; SINCE a time or empty; with FOLLOW `yes` it goes on until the
# container ends or nobody listens.
ids=$(timeout 20 docker ps --all --quiet --no-trunc --filter "label=sparkc.bundle=$BUNDLE" 2>&1) || {
  printf '%s\n' "$ids"
  return 10
}
id=${ids%%$'\n'*}
printf '%s %s\n' "$(date +%s.%N)" "${id:--}"
[ -n "$id" ] || return 0
arguments=(--timestamps --tail "$TAIL")
[ -z "$SINCE" ] || arguments+=(--since "$SINCE")
if [ "$FOLLOW" != yes ]; then
  docker logs "${arguments[@]}" "$id" 2>&1
  return
fi
# A silent container gives Docker nothing to write, so that it would never find out that nobody reads any more: an
# empty line now and then does.
trap '' PIPE
docker logs --follow "${arguments[@]}" "$id" 2>&1 &
job=$!
count=0
while kill -0 "$job" 2>/dev/null; do
  sleep 1
  count=$((count + 1))
  if [ $((count % 15)) -eq 0 ] && ! printf '\n' 2>/dev/null; then
    kill "$job"
    return 0
  fi
done
docker container inspect --format 'ended {{.State.Status}} {{.State.ExitCode}}' "$id" 2>/dev/null || echo ended removed
