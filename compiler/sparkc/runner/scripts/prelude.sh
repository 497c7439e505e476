# What every script on a node begins with.
# shellcheck shell=bash disable=SC2154
set -u
LC_ALL=C
export LC_ALL
# sshd's PATH may lack where docker and ip are (https://github.com/docker/cli/issues/2115).
PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/snap/bin
# A variable of the login user must not choose another engine, project or file.
for name in "${!DOCKER_@}" "${!COMPOSE_@}"; do unset "$name"; done
umask 022

# section NAME: what is printed from here on belongs to NAME.
section() {
  printf '\n%s %s\n' "$MARK" "$1"
}

# compose RELEASE_FOLDER PROJECT ARGUMENT...: Compose on exactly one file, with nothing else deciding.
# shellcheck disable=SC2329
compose() {
  local folder=$1 project=$2
  shift 2
  docker compose --project-name "$project" --project-directory "$folder" --file "$folder/compose.yaml" \
    --env-file /dev/null --progress plain "$@"
}

trap 'section "end $?"' EXIT
section begin
