import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkc.inventory.address import SshTarget, address_problem, canonical_address, canonical_ssh, split_ssh


@pytest.mark.parametrize(
    "text", ["192.168.177.11", "10.0.0.1", "198.18.0.1", "fd00::2", "2001:db8::1", "::ffff:10.0.0.1"]
)
def test_addresses_that_ranks_can_meet_at(text):
    assert address_problem(text) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("127.0.0.1", "loopback"),
        ("127.9.9.9", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("169.254.3.4", "link-local"),
        ("fe80::1", "link-local"),
        ("fd00::1%eth0", "link-local"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("::", "unspecified"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "multicast"),
        ("ff02::1", "multicast"),
        ("spark-1.lan", "not an IP address"),
        ("10.0.0.01", "not an IP address"),
        ("10.0.0.256", "not an IP address"),
        ("10.0.0", "not an IP address"),
        ("10.0.0.1/24", "not an IP address"),
        ("1:2:3", "not an IP address"),
        ("", "not an IP address"),
        ("10.0.0.1\n", "not an IP address"),
        ("\u0661.0.0.1", "not an IP address"),
    ],
)
def test_addresses_that_they_cannot(text, problem):
    assert problem in address_problem(text)


@given(st.ip_addresses())
def test_agrees_with_the_standard_library(address):
    refused = (
        address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or (address.version == 4 and (address.packed[0] == 0 or address.packed[0] >= 224))
        or (address.version == 6 and address.ipv4_mapped is not None and address_problem(str(address.ipv4_mapped)))
    )
    assert (address_problem(str(address)) is not None) == bool(refused)
    exploded = address.exploded.upper()
    assert canonical_address(exploded) == canonical_address(str(address))


@given(st.text())
def test_any_text_is_judged(text):
    if address_problem(text) is None:
        ipaddress.ip_address(text)
    parts = split_ssh(text)
    assert parts is None or not parts.host.startswith("-")
    canonical_ssh(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("spark-1.lan", (None, "spark-1.lan", None)),
        ("bob@spark-1:2222", ("bob", "spark-1", 2222)),
        ("fd00::2", (None, "fd00::2", None)),
        ("bob@fd00::2", ("bob", "fd00::2", None)),
        ("bob@[fd00::2]:22", ("bob", "fd00::2", 22)),
        ("my_alias", (None, "my_alias", None)),
    ],
)
def test_ssh_targets(text, parts):
    assert split_ssh(text) == SshTarget(*parts)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-l",
        "a b",
        "a;b",
        "$(x)",
        "bob@",
        "@a",
        "a:",
        "a:x",
        "a:0",
        "a:022",
        "a:99999",
        "[fd00::2",
        "[a]:22",
        "a@b@c",
    ],
)
def test_what_is_no_ssh_target(text):
    assert split_ssh(text) is None
