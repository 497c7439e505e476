"""Once a minute, ask the kernel to forget the weight files that the engine has read.

posix_fadvise needs no privilege and touches nothing but these files. Pages that a process still maps stay.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

INTERVAL = 60  # seconds


def hub_cache() -> Path:
    """Return the folder with the models, as huggingface_hub finds it."""
    home = os.environ.get("HF_HOME") or "~/.cache/huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or f"{home}/hub").expanduser()


def weight_files(hub: Path) -> Iterator[Path]:
    """Yield each weight file once: several snapshots may link to one blob."""
    links = (Path(folder, name) for folder, _, names in os.walk(hub) for name in names if name.endswith(".safetensors"))
    yield from sorted({link.resolve() for link in links})


def drop(path: Path) -> None:
    """Drop the clean, unmapped pages of one file; a file that is being removed or replaced is skipped."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    while True:
        for file in weight_files(hub_cache()):
            drop(file)
        time.sleep(INTERVAL)
