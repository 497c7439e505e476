# Takes the lock of the bundle whose folder is BASE and keeps it while the other end lives. All times are this node's.
# Given: BASE WHO PID DOING BUDGET (seconds) PATIENCE (seconds without a word before the other end counts as gone).
# On descriptor 3 it reads `beat` and `release`. Exit codes: 0 released, 10 no folder, 11 held by another, 12 abandoned.
lock=$BASE/lock
mkdir -p -- "$BASE" 2>&1 || return 10

# One at a time judges who has the lock, so that none takes over what another has just taken.
exec 9>>"$BASE/.lock-guard" || return 10
flock --timeout 20 9 || return 11
if [ -d "$lock" ]; then
  deadline=$(sed -n 's/^deadline=//p' "$lock/holder" 2>/dev/null)
  # Its keeper holds the file while it lives; a reboot or a kill ends that.
  if [ ! -e "$lock/abandoned" ] && [[ $deadline =~ ^[0-9]+$ ]] && [ "$deadline" -gt "$(date +%s)" ] \
    && ! flock --shared --nonblock "$lock/holder" true; then
    section now
    date +%s
    section held
    cat -- "$lock/holder"
    return 11
  fi
  section stale
  cat -- "$lock"/* 2>/dev/null
  rm -rf -- "$lock"
fi
mkdir -- "$lock" || return 10
now=$(date +%s)
printf 'who=%s\npid=%s\ndoing=%s\nsince=%s\ndeadline=%s\n' "$WHO" "$PID" "$DOING" "$now" $((now + BUDGET)) \
  >"$lock/holder" || return 10
exec 8<"$lock/holder"
# A look at the node may be asking at this moment whether the file is held.
flock --timeout 5 8 || return 10
exec 9>&-

# mine: whether the lock there is still this one, not one that was taken since somebody released this one by hand.
# Until the end, nobody else judges that.
mine() {
  exec 9>>"$BASE/.lock-guard" && flock --timeout 20 9
  [ "$lock/holder" -ef /dev/fd/8 ]
}

section got
while read -r -t "$PATIENCE" word <&3; do
  if [ "$word" = release ]; then
    ! mine || rm -rf -- "$lock"
    return 0
  fi
done
# The input ended, or there was no word for too long: the sparkc that held the lock is gone.
! mine || printf 'abandoned=1\n' >"$lock/abandoned"
return 12
