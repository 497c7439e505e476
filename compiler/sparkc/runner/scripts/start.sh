# Starts the rank in FOLDER as the Compose project BUNDLE. BASE is the bundle's folder. BACK: not empty when what ran
# before is started again.
# Exit codes: 0 started, 10 the folder is not there, 11 another start does not end, 12 the project holds a foreign
# container, else Compose's own.
exec 2>&1
section said
# Compose resolves the paths of mounts once: a link that changes later must not be in them.
cd -P -- "$FOLDER" || return 10
folder=$(pwd -P)
# Held until Compose has ended, even when nobody waits for this script any more: see stop.sh.
exec 9>>"$BASE/.start-lock" || return 10
flock --timeout 60 9 || return 11
# Compose takes over whatever carries the project's label, and would replace it.
foreign=$(timeout 60 docker ps --all --filter "label=com.docker.compose.project=$BUNDLE" \
  --format '{{.Label "sparkc.bundle"}} {{.Names}}' | awk -v "name=$BUNDLE" '$1 != name || NF != 2 { print $NF }')
if [ -n "$foreign" ]; then
  printf '%s\n' "$foreign"
  return 12
fi
# A release that gets other secrets keeps the ones it served with until it serves again.
secrets=${folder%/*/*}/.sparkc-secrets
if [ -n "$BACK" ]; then
  [ ! -e "$secrets.old" ] || mv -f -T -- "$secrets.old" "$secrets.env" || return 10
elif [ -e "$secrets.next" ]; then
  { [ -e "$secrets.old" ] || [ ! -e "$secrets.env" ] || mv -T -- "$secrets.env" "$secrets.old"; } \
    && mv -f -T -- "$secrets.next" "$secrets.env" || return 10
fi
# Writing is what tells whether our sparkc is still there: if not, this ends here.
section compose
compose "$folder" "$BUNDLE" up --detach --no-build --pull never --force-recreate
