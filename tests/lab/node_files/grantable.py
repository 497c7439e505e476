"""Edit the JSON that runc is about to read: without the capabilities and limits that this machine cannot grant.

Sandboxes lack CAP_SYS_RESOURCE, for one: runc then fails to raise limits above the hard ones, as bundles ask, and to
grant the capability itself. Where nothing is lacking, nothing is changed.
"""

import json
import resource
import sys
from pathlib import Path

SYS_RESOURCE = 24
# In the order of their numbers in capability.h.
NAMES = [
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
]


def main(arguments):
    path, inner = target(arguments)
    if path is None:
        return
    with path.open(encoding="utf-8") as file:
        document = json.load(file)
    limit(document if not inner else document.get("process", {}))
    with path.open("w", encoding="utf-8") as file:
        json.dump(document, file)


def target(arguments):
    """Return the file to edit, and whether the process is inside of it (config.json) or is all of it (exec)."""
    for option in ("--process", "-p"):
        if "exec" in arguments and option in arguments:
            return Path(arguments[arguments.index(option) + 1]), False
    for option in ("--bundle", "-b"):
        if option in arguments:
            return Path(arguments[arguments.index(option) + 1]) / "config.json", True
    return None, False


def limit(process):
    with Path("/proc/self/status").open(encoding="utf-8") as file:
        bounding = next(int(line.split()[1], 16) for line in file if line.startswith("CapBnd:"))
    for kind, names in process.get("capabilities", {}).items():
        kept = [name for name in names if bounding >> NAMES.index(name.removeprefix("CAP_")) & 1]
        process["capabilities"][kind] = kept
    if bounding >> SYS_RESOURCE & 1:
        return
    for entry in process.get("rlimits", []):
        _, hard = resource.getrlimit(getattr(resource, entry["type"]))
        if hard != resource.RLIM_INFINITY:
            entry["hard"] = min(entry["hard"], hard)
            entry["soft"] = min(entry["soft"], hard)


main(sys.argv[1:])
