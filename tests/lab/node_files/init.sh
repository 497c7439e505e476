#!/bin/sh
# Process 1 of a node, in new mount, UTS, IPC and process namespaces: builds the node's root, then starts its services.
# Arguments: the node's state folder, its folder on disk, its name, the compose plugin, the docker program.
set -eu
node=$1 disk=$2 name=$3 compose=$4 docker=$5
# The folder has another name once the node's root is in place. What went wrong is in init.log.
trap '{ : >/lab/node/failed; } 2>/dev/null || : >"$node/failed"' EXIT

# The node's root is the machine's, with a layer of its own for what it writes. The layer must be on another file
# system than the machine's root; it holds little, because what is big gets folders on disk below.
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$node/layer"
mkdir "$node/layer/upper" "$node/layer/work" "$node/layer/root" "$node/layer/net"
mount -t overlay -o "lowerdir=/,upperdir=$node/layer/upper,workdir=$node/layer/work" overlay "$node/layer/root"
root=$node/layer/root

mount -t proc proc "$root/proc"
# A sysfs of this network namespace, with the machine's cgroups: the Docker Engine needs both.
mount -t sysfs sysfs "$root/sys"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
# Kernels without RDMA have no /sys/class/infiniband, and sysfs lets nobody make it: the node's /sys/class is a folder
# with the two classes that tell of its networks.
mount --bind "$root/sys/class/net" "$node/layer/net"
mount -t tmpfs -o mode=755 tmpfs "$root/sys/class"
mkdir "$root/sys/class/net" "$root/sys/class/infiniband"
mount --move "$node/layer/net" "$root/sys/class/net"
mount --bind "$node/infiniband" "$root/sys/class/infiniband"

mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir -p "$root/dev/pts" "$root/dev/shm" "$root/dev/infiniband" "$root/run/lock" "$root/run/sshd" \
  "$root/lab/node" "$root/lab/old" "$root/var/lib/docker" "$root/usr/local/lib/docker/cli-plugins"
mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts "$root/dev/pts"
# Ranks that share /dev/shm believe that they are on one machine.
mount -t tmpfs tmpfs "$root/dev/shm"
mount --bind "$node" "$root/lab/node"
mount --bind "$disk/docker" "$root/var/lib/docker"
mount --bind "$disk/home" "$root/home"
mount --bind "$disk/tmp" "$root/tmp"
# The machine's docker program stands aside for one that logs each call, and waits when it is told to.
: >"$root/lab/docker"
mount --bind "$docker" "$root/lab/docker"
: >"$root/lab/docker-compose"
mount --bind "$compose" "$root/lab/docker-compose"
mount --bind "$node/bin/docker" "$root$docker"

cd "$root"
pivot_root . lab/old
umount -l /lab/old

for device in null:3 zero:5 full:7 random:8 urandom:9; do
  mknod -m 666 "/dev/${device%:*}" c 1 "${device#*:}"
done
mknod -m 666 /dev/tty c 5 0
mknod -m 666 /dev/infiniband/uverbs0 c 231 192
ln -s pts/ptmx /dev/ptmx
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/fd/0 /dev/stdin
ln -s /proc/self/fd/1 /dev/stdout
ln -s /proc/self/fd/2 /dev/stderr
hostname "$name"
echo "$name" >/etc/hostname
printf '127.0.0.1\tlocalhost\n::1\tlocalhost\n127.0.1.1\t%s\n' "$name" >/etc/hosts
# Nothing of a lab asks a name server; without one a look-up fails at once.
rm -f /etc/resolv.conf
: >/etc/resolv.conf
# The machine's settings of its own engine are not the node's, and its key.json would make all engines one.
# Image ids are those of the engine's own store in every version, as on a Spark that was set up before Docker 29.
rm -rf /etc/docker
mkdir -p /etc/docker /etc/ssh
echo '{"features": {"containerd-snapshotter": false}}' >/etc/docker/daemon.json
rm -rf /etc/ssh/ssh_host_* /etc/ssh/sshd_config.d /etc/ssh/ssh_config.d
sh /lab/node/login.sh
ln -sf /lab/docker-compose /usr/local/lib/docker/cli-plugins/docker-compose

"$(command -v sshd)" -f /lab/node/sshd_config -E /lab/node/log/sshd.log
/lab/node/bin/start-dockerd
: >/lab/node/started
# Process 1 adopts what its children leave behind, and the shell reaps it while it waits.
exec /bin/sh -c 'while :; do sleep 86400; done'
