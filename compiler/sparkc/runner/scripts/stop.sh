# Stops and removes the containers of BUNDLE on this node. BASE is the bundle's folder.
# Exit codes: 0 none is left, 1 some are, 10 Docker gave no answer, 11 a start does not end.
exec 2>&1
section said
if [ -d "$BASE" ] && exec 9>>"$BASE/.start-lock"; then
  # A start goes on here when its sparkc was interrupted, and would bring back what is removed now.
  flock --timeout 300 9 || return 11
fi

# ours: the ids of the bundle's containers; the label is compared again, whatever a filter makes of its value.
ours() {
  local listed
  listed=$(timeout 60 docker ps --all --no-trunc --filter "label=sparkc.bundle=$BUNDLE" \
    --format '{{.ID}} {{.Label "sparkc.bundle"}}') || return
  awk -v "name=$BUNDLE" '$2 == name && NF == 2 { print $1 }' <<<"$listed"
}

ids=$(ours) || return 10
removed=()
for id in $ids; do
  named='{{.Name}} {{with .Config.StopTimeout}}{{.}}{{else}}10{{end}}'
  read -r name grace < <(timeout 60 docker inspect --type container --format "$named" "$id")
  # Docker waits as long as the container asks for before it kills.
  timeout $((${grace:-10} + 60)) docker stop "$id" >/dev/null
  timeout 60 docker rm --force --volumes "$id" >/dev/null && removed+=("${name#/}")
done
left=$(ours) || return 10
project="label=com.docker.compose.project=$BUNDLE"
if [ -z "$(timeout 60 docker ps --all --quiet --filter "$project")" ]; then
  for network in $(timeout 60 docker network ls --quiet --no-trunc --filter "$project"); do
    timeout 60 docker network rm "$network" >/dev/null
  done
fi
section removed
[ ${#removed[@]} -eq 0 ] || printf '%s\n' "${removed[@]}"
[ -z "$left" ]
