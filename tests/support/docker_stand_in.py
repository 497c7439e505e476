"""A stand-in for a node's docker that keeps its containers in a file, for tests without one; the lab has real ones.

``<home>/containers`` has a line per container: id, label sparkc.bundle, Compose project, name, label sparkc.rank, label
sparkc.rank-digest, state; ``-`` for a label that it does not have. What ``<home>/log`` holds is every container's log.
A filter of ``ps`` matches the begin of a value: more than a real one does, so that a test sees who relies on it.
"""

from __future__ import annotations

from pathlib import Path

DOCKER = r"""#!/bin/bash
list=$HOME/containers
touch "$list"
[ ! -e "$HOME/docker-off" ] || { echo 'Cannot connect to the Docker daemon' >&2; exit 1; }
words="$*"
echo "$(date +%s.%N) $words" >>"$HOME/calls"
case "$words" in
info*) printf '/\nversion\t28.3.0\nengine\t%s\n' "$HOME" ;;
ps*label=sparkc.rank=*)
  name=${words#*label=sparkc.bundle=} rank=${words#*label=sparkc.rank=}
  awk -v name="${name%% *}" -v rank="${rank%% *}" '$2 == name && $5 == rank { print $1, $7 }' "$list" ;;
ps*label=sparkc.bundle=*format*)
  name=${words#*label=sparkc.bundle=}
  awk -v name="${name%% *}" 'index($2, name) == 1 { print $1, $2 }' "$list" ;;
ps*label=sparkc.bundle=*) awk -v name="${words#*label=sparkc.bundle=}" '$2 == name { print $1 }' "$list" ;;
ps*compose.project=*Names*)
  name=${words#*compose.project=}
  awk -v name="${name%% *}" '$3 == name { print ($2 == "-" ? "" : $2) " " $4 }' "$list" ;;
ps*compose.project=*) awk -v name="${words#*compose.project=}" '$3 == name { print $1 }' "$list" ;;
ps*) awk '{ print $1 }' "$list" ;;
*inspect*StopTimeout*) awk -v id="${words##* }" '$1 == id { print "/" $4, 10 }' "$list" ;;
'container inspect --format {"id"'*)
  awk -v now="$(date -u +%Y-%m-%dT%H:%M:%SZ)" '{
    printf "{\"id\":\"%s\",\"name\":\"/%s\",\"image_id\":\"sha256:1\",\"restarts\":0,", $1, $4
    printf "\"state\":{\"Status\":\"%s\",", $7
    printf "\"ExitCode\":%d,\"StartedAt\":\"%s\",\"FinishedAt\":\"%s\"},", ($7 == "exited") * 3, now, now
    labels = "\"sparkc.bundle\":\"" $2 "\",\"sparkc.rank\":\"" $5 "\",\"sparkc.rank-digest\":\"" $6 "\""
    if ($2 == "-") labels = ""
    printf "\"image\":\"img\",\"labels\":{%s},\"network\":\"host\",\"ports\":{}}\n", labels
  }' "$list" ;;
logs*) cat "$HOME/log" ;;
exec*) shift 3; exec "$@" ;;
rm*)
  [ ! -e "$HOME/stuck" ] || { echo 'device or resource busy' >&2; exit 1; }
  sed -i "/^${words##* } /d" "$list" ;;
'network ls'*) ! [ -e "$HOME/network" ] || echo network ;;
'network rm'*) rm "$HOME/network" ;;
compose*up*)
  if [ -e "$HOME/broken" ]; then cat "$HOME/broken"; exit 14; fi
  pwd >"$HOME/started-in"
  echo "new demo demo demo - - running" >>"$list" ;;
esac
"""


def install(folder: Path) -> None:
    """Put the stand-in into a folder of programs."""
    (folder / "docker").write_text(DOCKER)
    (folder / "docker").chmod(0o755)


def put_containers(home: Path, *lines: str) -> None:
    """Say which containers a node has; what a line leaves out at its end is ``-``, and the state running."""
    rows = [[*(words := line.split()), *["-"] * (6 - len(words))][:6] + words[6:7] for line in lines]
    (home / "containers").write_text(
        "".join(f"{' '.join(row if len(row) == 7 else [*row, 'running'])}\n" for row in rows)
    )


def names(home: Path) -> list[str]:
    """Return the names of the containers that are left."""
    return [line.split()[3] for line in (home / "containers").read_text().splitlines()]
