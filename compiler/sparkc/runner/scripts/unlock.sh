# Removes the lock of the bundle whose folder is BASE, whoever holds it, and tells who that was.
# Exit codes: 0 there is none any more, 10 it cannot be removed, 11 somebody is just taking it.
exec 2>&1
section said
[ -d "$BASE/lock" ] || return 0
# Those that take the lock wait here for each other.
exec 9>>"$BASE/.lock-guard" || return 10
flock --timeout 20 9 || return 11
section lock
cat -- "$BASE/lock"/* 2>/dev/null
section said
rm -rf -- "$BASE/lock" || return 10
