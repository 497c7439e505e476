"""Start a command in the background unless it still runs: ``start_once.py COMMAND…``.

The lock belongs to the background process and ends with it. A process number alone would not do: after a
restart of the container another process may have it. The file lies beside the mod's folder, because that
is copied anew at each start.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

folder = Path(__file__).resolve().parent
lock = os.open(folder.with_name(f".{folder.name}.pid"), os.O_RDWR | os.O_CREAT, 0o644)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print(f"{folder.name}: already running as process {os.read(lock, 20).decode().strip()}")
    sys.exit(0)

# Own session and no inherited output: launch.sh goes on to the engine and must not wait for this process.
process = subprocess.Popen(
    sys.argv[1:],
    cwd=folder,
    pass_fds=[lock],
    start_new_session=True,
    stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)
os.truncate(lock, 0)
os.write(lock, f"{process.pid}\n".encode())
print(f"{folder.name}: runs once a minute as process {process.pid}")
