# Makes room for a release: the folders of sparkc and the sources of mounts that are to be made, as the login user.
# Given: RELEASES INCOMING (a folder to be empty), and the list MADE. Exit codes: 0 done, 10 a folder cannot be made.
exec 2>&1
section said
for path in "$RELEASES" "${MADE[@]}"; do
  mkdir -p -- "$path" || return 10
done
# What a killed upload left; whoever calls this holds the lock.
rm -rf -- "$RELEASES"/.incoming-* "$RELEASES"/.old-* "$RELEASES"/*/.sparkc-secrets.n*
[ -z "$INCOMING" ] || mkdir -p -- "$INCOMING" || return 10
