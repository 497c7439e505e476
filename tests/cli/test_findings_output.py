"""How findings are shown: the worst last, what nodes share once, and nothing that a terminal would obey."""

from sparkc.cli.findings_output import as_data, count, failed, print_findings, print_table
from sparkc.runner.findings import Finding


def test_errors_come_last_and_shared_findings_once(capsys):
    print_findings(
        [
            Finding("error", "spark-1", "no rsync", "ssh a apt-get install rsync"),
            Finding("note", "spark-1", "swap is on", "swapoff"),
            Finding("error", "spark-2", "no rsync", "ssh b apt-get install rsync"),
            Finding("error", None, "the MTU differs", None, ("spark-1  9000", "spark-2  1500")),
        ]
    )
    assert capsys.readouterr().err == (
        "note: spark-1: swap is on\n  help: swapoff\n"
        "error: spark-1, spark-2: no rsync\n"
        "  help: ssh a apt-get install rsync\n  help: ssh b apt-get install rsync\n"
        "error: the MTU differs\n    spark-1  9000\n    spark-2  1500\n"
    )


def test_what_a_node_says_cannot_steer_the_terminal(capsys):
    print_findings([Finding("error", "a\x1b[2J", "said \x1b]0;x\x07\n::error::y", "\x1b", ("::warning::z",))])
    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert [line for line in shown.splitlines() if line.lstrip().startswith("::")] == []


def test_counts():
    findings = [Finding("note", None, "a"), Finding("error", None, "b"), Finding("note", None, "c")]
    assert count(findings) == "1 error, 2 notes"
    assert count([]) == "no findings"
    assert failed(findings)
    assert not failed(findings[:1])


def test_data_for_programs():
    assert as_data([Finding("error", None, "a", "b", ("c",))]) == [
        {"severity": "error", "node": None, "message": "a", "hint": "b", "details": ["c"]}
    ]


def test_tables_are_aligned(capsys):
    print_table(("A", "LONG"), [("wide cell", ""), ("x\x1b", "y")])
    assert capsys.readouterr().out == "A          LONG\nwide cell\nx\\x1b      y\n"
