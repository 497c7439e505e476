"""The mod that brings an ssh server: it asks apt only where there is none."""

import subprocess

import pytest

from sparkc import resources


@pytest.mark.parametrize(("present", "asked"), [(True, []), (False, ["update", "install"])])
def test_apt_is_asked_only_where_sshd_is_missing(present, asked, tmp_path):
    log = tmp_path / "log"
    log.touch()
    programs = {"apt-get": f'#!/bin/sh\necho "$1 $*" >>{log}\n'} | ({"sshd": "#!/bin/sh\n"} if present else {})
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    script = (resources.folder("mods") / "openssh-server" / "run.sh").read_text().replace("/usr/sbin/sshd", "/none")
    subprocess.run(["/bin/sh", "-c", script], env={"PATH": str(tmp_path)}, check=True, capture_output=True)
    lines = log.read_text().splitlines()
    assert [line.split()[0] for line in lines] == asked
    assert not lines or lines[-1].endswith("openssh-server")
