"""rsync's remote shell for a node whose login shell prints: ``python -m sparkc.runner.quiet_shell ssh … HOST COMMAND``.

rsync takes the first byte from the node for its protocol, so a greeting in ``.bashrc`` ends it ("is your shell
clean?", https://github.com/rust-lang/rustup/issues/498). Here the node prints a mark before rsync begins, and all up to
the mark is passed over.
"""

from __future__ import annotations

import io
import os
import secrets
import subprocess
import sys

_CHUNK = 1 << 16


def main(argv: list[str]) -> int:
    """Run the remote shell in ``argv`` with rsync's command behind a mark, and pass on what comes after it."""
    # ssh joins its words with spaces as it is: rsync quotes what needs it, and with --protect-args nothing does.
    mark = f"sparkc-{secrets.token_hex(8)}"
    at = argv.index("--server") - 1
    command = f"printf '%s\\n' {mark}; exec {' '.join(argv[at:])}"
    with subprocess.Popen([*argv[:at], command], stdout=subprocess.PIPE) as process:
        assert isinstance(process.stdout, io.BufferedReader)  # noqa: S101 - asked for
        for line in process.stdout:
            if line.rstrip(b"\r\n").endswith(mark.encode()):
                break
        while chunk := process.stdout.read1(_CHUNK):
            os.write(sys.stdout.fileno(), chunk)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
