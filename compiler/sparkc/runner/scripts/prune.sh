# Removes old releases of BUNDLE, whose folder is BASE: all but the current, the previous and the KEPT newest ones, and
# those that a container stands on. Prints their digests. Exit codes: 0 done, 10 one cannot be removed, 11 no answer
# from Docker.
exec 2>&1
section said
removed=()
if ! cd -- "$BASE/releases"; then
  section removed
  return 0
fi
kept=$(
  readlink -- ../current ../previous
  # Of a deploy that failed or was cut off, a container may run from a release that never became the current one.
  stands='{{.Label "com.docker.compose.project.working_dir"}}'
  timeout 60 docker ps --all --filter "label=sparkc.bundle=$BUNDLE" --format "$stands" || echo unanswered
)
[[ $kept != *unanswered* ]] || return 11
mapfile -t newest < <(
  for release in *; do
    [[ $release =~ ^[0-9a-f]{64}$ ]] || continue
    deployed=$(head -n 1 -- "$release/deployed" 2>/dev/null)
    printf '%s %s\n' "${deployed:-0}" "$release"
  done | sort -k 1,1rn -k 2 | cut -d ' ' -f 2
)
for release in "${newest[@]:KEPT}"; do
  [[ $kept != *"$release"* ]] || continue
  rm -rf -- "$release" || return 10
  removed+=("$release")
done
section removed
[ ${#removed[@]} -eq 0 ] || printf '%s\n' "${removed[@]}"
