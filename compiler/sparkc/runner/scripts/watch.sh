# Tells every INTERVAL seconds how the container of BUNDLE is, in a line of fields between tabs, until nobody listens:
# state, health, exit code, restarts, killed for lack of memory, start, end, the node's clock, total and available
# memory and page cache in KiB, the last line of its log. The state is `gone` without a container, `silent` when Docker
# does not answer.
ids=$(timeout 20 docker ps --all --quiet --no-trunc --filter "label=sparkc.bundle=$BUNDLE" 2>/dev/null)
id=${ids%%$'\n'*}
template='{{.State.Status}} {{with .State.Health}}{{.Status}}{{else}}none{{end}} {{.State.ExitCode}} {{.RestartCount}}'
template+=' {{.State.OOMKilled}} {{.State.StartedAt}} {{.State.FinishedAt}}'
while true; do
  log=
  if [ -z "$id" ]; then
    state='gone none 0 0 false - -'
  elif state=$(timeout 20 docker container inspect --format "$template" "$id" 2>&1); then
    # Progress bars write over their line again and again.
    log=$(timeout 20 docker logs --tail 1 "$id" 2>&1 | tail -c 4000 | tr '\t\n' '  ')
  elif [[ $state == *'No such'* ]]; then
    state='gone none 0 0 false - -'
  else
    log=${state//[$'\t\n']/ }
    state='silent none 0 0 false - -'
  fi
  memory=$(awk '{ size[$1] = $2 } END { print size["MemTotal:"] "\t" size["MemAvailable:"] "\t" size["Cached:"] }' \
    /proc/meminfo)
  printf '%s\t%s\t%s\t%s\n' "${state// /$'\t'}" "$(date +%s.%N)" "$memory" "$log" || return 0
  sleep "$INTERVAL"
done
