"""``sparkc-lab/stub:1``: busybox, bash, this machine's Python, and a program ``vllm`` that behaves as the real one.

The lower layer holds the machine's programs and is kept in a cache folder; the upper one holds ``tests/lab/stub``.
"""

from __future__ import annotations

import hashlib
import io
import marshal
import os
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path
from typing import Any

from .image import Image, architecture, layer_of
from .requirements import program
from .state import CACHE
from .system import LabError, run

TAG = "sparkc-lab/stub:1"

_STUB = Path(__file__).parent / "stub"
# Parts of the standard library that a server without screen and compiler does without.
_LEFT_OUT = ("test", "idlelib", "tkinter", "turtle", "ensurepip", "lib2to3", "pydoc_data", "config-", "__pycache__")
_LEFT_OUT_BINARIES = (
    "_test",
    "_ctypes_test",
    "_tkinter",
    "_xx",
    "xxlimited",
    "_sqlite3",
    "_dbm",
    "_gdbm",
    "readline",
    "nis",
)


def stub(tag: str = TAG, extra: str = "", **options: Any) -> Image:
    """Return the image, or one like it: under another name, with a file of the text ``extra`` in a third layer.

    ``options`` are fields of :class:`Image`, such as ``architecture="arm64"``. Other layers or another architecture
    make another image id and another content; another tag alone does not.
    """
    layers: tuple[Path | bytes, ...] = (_machine_layer(), _stub_layer())
    if extra:
        layers = (*layers, layer_of([("etc/extra", extra.encode(), 0o644)]))
    return Image(tag, layers, **options)


def _stub_layer() -> bytes:
    files = [("workspace", b"", 0o40755), ("tmp", b"", 0o41777), ("root", b"", 0o40700)]
    for source in sorted(_STUB.rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts:
            where = "usr/local/bin" if source.name == "vllm" else "usr/local/lib/sparkc_stub"
            files.append((f"{where}/{source.relative_to(_STUB)}", source.read_bytes(), 0o755))
    return layer_of(files)


def _machine_layer() -> Path:
    """Return the lower layer, by its name in the cache: made again when Python or this module changed."""
    python = _python()
    facts = (sys.version, str(python), python.stat().st_mtime_ns, architecture(), Path(__file__).read_bytes())
    path = CACHE / f"machine-{hashlib.sha256(repr(facts).encode()).hexdigest()[:20]}.tar"
    if not path.exists():
        _keep(path, _machine_files())
    path.touch()
    return path


def _keep(path: Path, content: bytes) -> None:
    """Put a file into the cache, whole or not at all, even when we are killed: it has no name until it is complete.

    Files that no lab has used for two weeks are removed.
    """
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    handle = os.open(path.parent, os.O_TMPFILE | os.O_RDWR, 0o644)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        with suppress(FileExistsError):  # another lab was quicker, with the same content
            # With a folder's handle Python calls linkat, which follows the link to the nameless file.
            os.link(f"/proc/self/fd/{handle}", path, src_dir_fd=handle)
    for other in path.parent.iterdir():
        if other.stat().st_mtime < time.time() - 14 * 86400:
            other.unlink(missing_ok=True)


def _machine_files() -> bytes:
    busybox, bash = program("busybox"), program("bash")
    if busybox is None or bash is None:
        raise LabError("the stub image needs busybox-static and bash")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    modules = _stdlib() / "lib-dynload"
    binaries = [path for path in sorted(modules.glob("*.so")) if not path.name.startswith(_LEFT_OUT_BINARIES)]
    files = [
        ("bin/busybox", Path(busybox).read_bytes(), 0o755),
        ("bin/bash", Path(bash).read_bytes(), 0o755),
        (f"usr/local/bin/{version}", _python().read_bytes(), 0o755),
        (f"usr/local/lib/{version.replace('.', '')}.zip", _library(), 0o644),
        # Python finds its library by this file; the modules themselves are in the archive beside it.
        (f"usr/local/lib/{version}/os.py", (_stdlib() / "os.py").read_bytes(), 0o644),
        ("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644),
        ("etc/group", b"root:x:0:\n", 0o644),
        *((f"usr/local/lib/{version}/lib-dynload/{path.name}", path.read_bytes(), 0o755) for path in binaries),
        *((str(path), path.read_bytes(), 0o755) for path in _libraries([_python(), Path(bash), *binaries])),
    ]
    links = [("usr/local/bin/python3", version), ("usr/bin/env", "/bin/busybox")]
    applets = run([busybox, "--list"]).split()
    links += [(f"bin/{name}", "busybox") for name in applets if name not in ("busybox", "bash")]
    return layer_of(files, links)


def _library() -> bytes:
    """Return the standard library as one archive of compiled modules: a container starts with few files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted(_stdlib().rglob("*.py")):
            name = path.relative_to(_stdlib())
            if name.parts[0].startswith(_LEFT_OUT) or "site-packages" in name.parts:
                continue
            source = path.read_bytes()
            try:
                code = compile(source, str(name), "exec", dont_inherit=True)
            except SyntaxError:  # templates and test inputs
                continue
            # A compiled module that Python takes without looking for its source (PEP 552: unchecked, by hash).
            head = MAGIC_NUMBER + (1).to_bytes(4, "little") + source_hash(source)
            archive.writestr(zipfile.ZipInfo(f"{name}c"), head + marshal.dumps(code))
    return buffer.getvalue()


def _stdlib() -> Path:
    return Path(sysconfig.get_path("stdlib"))


def _python() -> Path:
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


def _libraries(programs: list[Path]) -> Iterator[Path]:
    """Yield the shared libraries that programs load, at the paths where the loader will look for them."""
    # Static programs and broken modules are told on standard error; they need nothing.
    told = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=False).stdout
    found = {word for line in told.splitlines() for word in line.split() if word.startswith("/") and ":" not in word}
    for name in sorted(found):
        yield Path(name)
