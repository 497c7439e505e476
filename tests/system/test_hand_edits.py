"""What is in out/ and is not what compile made: refused, told, or left alone, never lost."""

from system_tools import RECIPE, compiled, inventory, tree


def test_a_hand_edit_is_refused_by_name_and_lost_only_with_force(demo):
    after = compiled(demo)
    edited = demo.out / "demo/rank-1-spark-2/launch.sh"
    edited.write_bytes(edited.read_bytes() + b"# mine\n")
    mine = tree(demo.out)
    for arguments in (("demo",), ("--all",)):
        done = demo.sparkc("compile", *arguments)
        assert (done.returncode, "SPK602" in done.stderr) == (1, True)
        assert "demo/rank-1-spark-2/launch.sh was edited by hand" in done.stderr
        assert "--force" in done.stderr
        assert tree(demo.out) == mine
    assert compiled(demo, "demo", "--force") == after


def test_check_finds_what_changed_what_is_missing_and_what_is_extra(demo):
    before = compiled(demo)
    rank = demo.out / "demo/rank-0-spark-1"
    (rank / "rank.env").write_bytes((rank / "rank.env").read_bytes().replace(b"NOTE=plain", b"NOTE=mine"))
    (rank / "compose.yaml").unlink()
    (rank / "extra.txt").write_text("x\n")
    (rank / "launch.sh").chmod(0o644)
    done = demo.sparkc("compile", "--check")
    assert done.returncode == 1
    assert "-NOTE=mine\n+NOTE=plain\n" in done.stdout
    assert "--- /dev/null\n+++ b/demo/rank-0-spark-1/compose.yaml" in done.stdout
    assert "--- a/demo/rank-0-spark-1/extra.txt\n+++ /dev/null" in done.stdout
    assert "demo/rank-0-spark-1/launch.sh is not executable" in done.stdout
    assert "sparkc compile --all" in done.stderr
    assert not (rank / "compose.yaml").exists(), "a check wrote something"
    (rank / "extra.txt").unlink()
    assert compiled(demo, "demo", "--force") == before
    assert demo.sparkc("compile", "--check").returncode == 0


def test_what_is_no_longer_part_of_a_bundle_goes_and_what_is_the_user_s_stays(demo):
    compiled(demo)
    demo.write("out/demo/NOTES.txt", "mine\n")
    demo.write("out/demo/rank-1-spark-2/mine.txt", "mine\n")
    demo.write("recipes/demo.yaml", RECIPE.replace("tensor: 2", "tensor: 1"))
    found = compiled(demo).keys()
    assert {path for path in found if "rank-1" in path or "mods" in path} == {"demo/rank-1-spark-2/mine.txt"}
    assert "demo/NOTES.txt" in found
    demo.out.joinpath("demo/rank-1-spark-2/mine.txt").unlink()


def test_the_bundle_of_another_recipe_or_inventory_is_not_replaced(demo):
    before = compiled(demo)
    demo.write("recipes/other.yaml", RECIPE)
    demo.write("lab2.yaml", inventory(3))
    done = demo.sparkc("compile", "other")
    assert (done.returncode, "SPK604" in done.stderr) == (1, True)
    assert "recipes/demo.yaml" in done.stderr
    assert "recipes/other.yaml" in done.stderr
    assert tree(demo.out) == before
    assert demo.sparkc("compile", "demo", "--inventory", "lab2.yaml").returncode == 0
    assert {path: data for path, data in tree(demo.out).items() if path in before} == before
    assert compiled(demo, "other", "--force") != before


def test_a_damaged_record_is_told_with_its_place(demo):
    compiled(demo)
    record = demo.out / "demo/bundle.json"
    for damage in (
        b"",
        b"{",
        b"[]",
        b'{"sparkc_bundle": 2}',
        b"\xff",
        record.read_bytes().replace(b'"ranks"', b'"rank"'),
    ):
        record.write_bytes(damage)
        for arguments in (("demo",), ("--check",)):
            done = demo.sparkc("compile", *arguments)
            assert done.returncode == 1, (damage, arguments, done.stderr)
            assert "bundle.json:" in done.stderr
