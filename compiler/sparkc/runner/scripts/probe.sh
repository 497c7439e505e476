# Everything that a command wants to know about a node, in one go. It changes nothing.
# Given: HOME_FOLDER BUNDLE IMAGE MTU_OF, and the lists PORTS PATHS PEERS MODEL_KINDS MODEL_FOLDERS MODEL_REVISIONS.
# shellcheck shell=bash disable=SC2154

# engine ARGUMENT...: Docker, which may hang where its daemon does.
engine() {
  timeout 20 docker "$@"
}

# existing PATH: the nearest folder that is there, in $found.
existing() {
  found=$1
  while [ ! -e "$found" ] && [ "$found" != / ]; do
    found=${found%/*}
    found=${found:-/}
  done
}

# describe PATH: its kind, owner and file system, and whether we may write into it, or could make it.
describe() {
  local kind=none writable=no creatable=no found
  if [ -d "$1" ]; then kind='directory'; elif [ -f "$1" ]; then kind='file'; elif [ -e "$1" ]; then kind='other'; fi
  [ -w "$1" ] && writable=yes
  existing "$1"
  [ -d "$found" ] && [ -w "$found" ] && [ -x "$found" ] && creatable=yes
  printf '%s\t%s\t%s\t%s\t%s\n' "$kind" "$writable" "$creatable" \
    "$(stat -L -c %U -- "$found" 2>/dev/null)" "$(stat -L -f -c %T -- "$found" 2>/dev/null)"
}

# whose INODE: the processes behind a socket, as far as we may see them, with the container they are in.
whose() {
  local link pid command group
  find /proc/[0-9]*/fd -lname "socket:\[$1\]" 2>/dev/null | while read -r link; do
    pid=${link#/proc/}
    pid=${pid%%/*}
    read -r command <"/proc/$pid/comm" || continue
    group=$(grep -oE -m 1 '[0-9a-f]{64}' "/proc/$pid/cgroup")
    printf 'process\t%s\t%s\t%s\t%s\n' "$1" "$pid" "$group" "$command"
  done 2>/dev/null
}

# answers ADDRESS: tell of a peer that does not answer, or not at the full width of the link.
answers() {
  local said headers=28
  [[ $1 =~ ^[0-9A-Fa-f.:]+$ ]] || return
  [[ $1 == *:* ]] && headers=48
  if ping -n -q -c 1 -W 1 "$1" >/dev/null 2>&1; then
    if [ "$mtu" -gt 1500 ] && ! ping -n -q -c 2 -i 0.2 -W 1 -M 'do' -s "$((mtu - headers))" "$1" >/dev/null 2>&1; then
      printf 'narrow\t%s\n' "$1"
    fi
    return
  fi
  # There may be no ping, or a firewall that is against it; a refused connection is an answer as well.
  # shellcheck disable=SC2016 # the address is that bash's $0
  said=$(timeout 2 bash -c 'exec 3<>"/dev/tcp/$0/22"' "$1" 2>&1) && return
  [[ $said == *refused* ]] || printf 'silent\t%s\n' "$1"
}

# all_answers: what `answers` says about all peers, asked at once.
all_answers() {
  local peer
  for peer in "${PEERS[@]}"; do
    answers "$peer" &
  done
  wait
}

# release FOLDER: one kept release, with the hashes of what belongs to it.
release() {
  local name=${1##*/}
  [[ $name =~ ^[0-9a-f]{64}$ ]] || return
  section "release $name"
  printf 'deployed\t%s\n' "$(head -n 1 -- "$1/deployed" 2>/dev/null)"
  [ -f "$1/.sparkc-secrets.env" ] && printf 'secrets\t%s\n' "$(sha256sum <"$1/.sparkc-secrets.env")"
  if [ -d "$1/$BUNDLE" ]; then
    (
      cd -- "$1/$BUNDLE" || exit
      find . -type f -exec sha256sum -- {} + | sed 's/^/file\t/'
      find . ! -type f ! -type d -exec printf 'other\t%s\n' {} \;
    ) 2>/dev/null
  fi
  section "manifest $name"
  cat -- "$1/$BUNDLE/bundle.json" 2>/dev/null
}

# gids HCA_FOLDER: the addresses of an HCA's port, by index.
gids() {
  local file index gid type interface
  for file in "$1"/ports/1/gids/*; do
    index=${file##*/} gid='' type='' interface=''
    read -r gid <"$file" || continue
    [[ $gid =~ ^[0:]*$ ]] && continue
    read -r type <"$1/ports/1/gid_attrs/types/$index"
    read -r interface <"$1/ports/1/gid_attrs/ndevs/$index"
    printf 'gid\t%s\t%s\t%s\t%s\t%s\n' "${1##*/}" "$index" "$gid" "$type" "$interface"
  done 2>/dev/null
}

# snapshot KIND FOLDER REVISION: what of a model is there, and what is missing. KIND is hub for a repository in a
# cache, whose REVISION may be empty, or path for the files themselves.
snapshot() {
  local place=$2 revision=$3 wanted
  if [ "$1" = hub ]; then
    wanted=${3:-main}
    if [ ! -d "$2/snapshots/$wanted" ]; then
      revision=
      # A reference has no line end, so `read` fails and reads it all the same.
      [ -f "$2/refs/$wanted" ] && read -r revision <"$2/refs/$wanted"
      [ -n "$revision" ] || return
    fi
    place=$2/snapshots/$revision
  fi
  [ -e "$place" ] || return
  printf 'revision\t%s\n' "$revision"
  printf 'owner\t%s\n' "$(stat -L -c %U -- "$2" 2>/dev/null)"
  [ -d "$place" ] || return
  {
    find "$place" -xtype l -printf '%P\n' 2>/dev/null
    if [ -f "$place/model.safetensors.index.json" ]; then
      grep -oE '"[^"]+\.safetensors"' "$place/model.safetensors.index.json" | tr -d '"' | while read -r wanted; do
        [ -e "$place/$wanted" ] || printf '%s\n' "$wanted"
      done
    elif compgen -G "$place/model-*-of-*.safetensors" >/dev/null; then
      echo model.safetensors.index.json
    elif ! compgen -G "$place/*.safetensors" >/dev/null && ! compgen -G "$place/*.gguf" >/dev/null \
      && ! compgen -G "$place/*.bin" >/dev/null && ! compgen -G "$place/*/*.gguf" >/dev/null; then
      echo 'the weights'
    fi
  } | sort -u | head -n 500 | sed 's/^/missing\t/'
}

home=${HOME_FOLDER:-$HOME}
root=$home/.local/share/sparkc
mtu=0
[ -n "$MTU_OF" ] && [ -r "/sys/class/net/$MTU_OF/mtu" ] && read -r mtu <"/sys/class/net/$MTU_OF/mtu"
exec 4< <(all_answers)

section node
printf 'clock\t%s\n' "$(date +%s.%N)"
printf 'user\t%s\n' "$(id -un)"
printf 'uid\t%s\n' "$UID"
printf 'home\t%s\n' "$HOME"
printf 'machine\t%s\n' "$(uname -m)"
printf 'path\t%s\n' "$PATH"
printf 'rsync\t%s\n' "$(rsync --version 2>/dev/null | sed -n '1s/^rsync *version \([^ ]*\).*/\1/p')"
printf 'driver\t%s\n' "$(sed -n '1s/.*  \([0-9][0-9.]*\)  .*/\1/p' /proc/driver/nvidia/version 2>/dev/null)"
if { command -v nvidia-container-runtime-hook || compgen -G '/etc/cdi/*nvidia*' || compgen -G '/var/run/cdi/*nvidia*'; } \
  >/dev/null; then
  printf 'gpu_support\tyes\n'
fi
[ -d /dev/infiniband ] && printf 'rdma\tyes\n'

section docker
ids=() answering='' docker_root=''
if ! command -v docker >/dev/null; then
  printf 'missing\tyes\n'
elif said=$(engine ps --all --quiet --no-trunc 2>&1); then
  answering=yes
  mapfile -t ids < <(grep -xE '[0-9a-f]{64}' <<<"$said")
  said=$(engine info --format $'{{.DockerRootDir}}\nversion\t{{.ServerVersion}}\nengine\t{{.ID}}' 2>/dev/null)
  docker_root=${said%%$'\n'*}
  printf '%s\n' "${said#*$'\n'}"
else
  [ $? -eq 124 ] && said='no answer within 20 s'
  printf 'error\t%s\n' "${said//$'\n'/ }"
fi
printf 'compose\t%s\n' "$(engine compose version --short 2>/dev/null)"

containers=
if [ "${#ids[@]}" -gt 0 ]; then
  # Docker's own names (`Id`, not `ID`) make it look fields up in its JSON, where `Health` may be absent.
  containers=$(engine container inspect --format '{"id":{{json .Id}},"name":{{json .Name}},"image_id":{{json .Image}},"restarts":{{json .RestartCount}},"state":{{json .State}},"image":{{json .Config.Image}},"labels":{{json .Config.Labels}},"network":{{json .HostConfig.NetworkMode}},"ports":{{json .NetworkSettings.Ports}}}' "${ids[@]}" 2>/dev/null)
  # One that was removed since is no fault, but no answer at all must not look like no containers.
  [ -n "$containers" ] || printf 'error\tthe containers cannot be inspected\n'
fi

section containers
printf '%s\n' "$containers"

section image
[ -n "$answering" ] && [ -n "$IMAGE" ] && engine image inspect "$IMAGE" 2>/dev/null

section listeners
awk 'FNR > 1 && $4 == "0A" { print "socket\t" substr($2, length($2) - 3) "\t" $8 "\t" $10 }' \
  /proc/net/tcp /proc/net/tcp6 2>/dev/null
for port in "${PORTS[@]}"; do
  printf -v hex ':%04X' "$port"
  awk -v port="$hex" 'FNR > 1 && $4 == "0A" && substr($2, length($2) - 4) == port { print $10 }' \
    /proc/net/tcp /proc/net/tcp6 2>/dev/null | while read -r inode; do whose "$inode"; done
done

section paths
describe "$root"
for path in "${PATHS[@]}"; do describe "$path"; done

section disks
for path in "$root" "$docker_root" "${PATHS[@]}"; do
  [ -n "$path" ] || continue
  existing "$path"
  df -B1 --output=avail,target -- "$found" 2>/dev/null | tail -n 1
done

section interfaces
for path in /sys/class/net/*; do
  state='' width=0
  read -r state <"$path/operstate"
  read -r width <"$path/mtu"
  printf 'interface\t%s\t%s\t%s\n' "${path##*/}" "$state" "$width"
done 2>/dev/null
ip -o addr show 2>/dev/null | awk '{ sub(/\/.*/, "", $4); sub(/@.*/, "", $2); print "address\t" $2 "\t" $4 }'

section hcas
for path in /sys/class/infiniband/*; do
  [ -e "$path" ] || continue
  state=''
  read -r state <"$path/ports/1/state"
  printf 'hca\t%s\t%s\n' "${path##*/}" "${state##*: }"
  gids "$path"
done 2>/dev/null

section models
for index in "${!MODEL_FOLDERS[@]}"; do
  printf 'model\t%s\n' "$index"
  snapshot "${MODEL_KINDS[index]}" "${MODEL_FOLDERS[index]}" "${MODEL_REVISIONS[index]}"
done

section memory
cat /proc/meminfo

section bundles
for path in "$root"/*/; do
  [ -d "$path/releases" ] || continue
  path=${path%/}
  printf '%s\n' "${path##*/}"
done

# The bundles that run here beside ours: only their manifest knows which ports they hold.
for path in "$root"/*/; do
  path=${path%/}
  name=${path##*/}
  if [ "$name" != "$BUNDLE" ] && [[ $containers == *"\"sparkc.bundle\":\"$name\""* ]]; then
    section "neighbour $name"
    cat -- "$path/current/$name/bundle.json" 2>/dev/null
  fi
done

if [ -n "$BUNDLE" ]; then
  section links
  printf 'current\t%s\n' "$(readlink -- "$root/$BUNDLE/current")"
  printf 'previous\t%s\n' "$(readlink -- "$root/$BUNDLE/previous")"
  for path in "$root/$BUNDLE"/releases/*; do release "$path"; done
  if [ -d "$root/$BUNDLE/lock" ]; then
    section lock
    cat -- "$root/$BUNDLE/lock"/* 2>/dev/null
    # Its keeper holds the file while it lives: a keeper that was killed, or a reboot, leaves it free.
    path=$root/$BUNDLE/lock/holder
    [ -e "$path" ] && flock --shared --nonblock "$path" true && printf 'abandoned=1\n'
  fi
fi

section peers
cat <&4
