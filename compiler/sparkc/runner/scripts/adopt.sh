# Checks an upload and puts it in its place: a release is there whole, or not at all.
# Given: INCOMING (empty: only the secrets) RELEASE BUNDLE FOLDER (of the rank) SECRETS (the file's text) HAVE_SECRETS,
# and the lists FILES, HASHES, MODES. Exit codes: 0 done, 10 cannot be written, 11 not what was sent.
exec 2>&1
if [ -n "$INCOMING" ]; then
  section wrong
  cd -- "$INCOMING/$BUNDLE" || return 10
  wrong=
  declare -A known
  for index in "${!FILES[@]}"; do
    file=${FILES[index]}
    known[./$file]=1
    if [ "$(sha256sum <"$file" 2>/dev/null)" != "${HASHES[index]}  -" ]; then
      printf '%s\n' "$file"
      wrong=1
    fi
  done
  while IFS= read -r -d '' file; do
    if [ -z "${known[$file]-}" ]; then
      printf '%s (does not belong there)\n' "${file#./}"
      wrong=1
    fi
  done < <(find . ! -type d -print0)
  [ -z "$wrong" ] || return 11

  section said
  for index in "${!FILES[@]}"; do chmod -- "${MODES[index]}" "${FILES[index]}" || return 10; done
  find . -type d -exec chmod 0755 {} + || return 10
  mkdir -p -- "$RELEASE/$BUNDLE" || return 10
  # A container may still have the folder that is replaced: it keeps it until it is made anew.
  old=${RELEASE%/*}/.old-${FOLDER}
  [ ! -e "$RELEASE/$BUNDLE/$FOLDER" ] || mv -T -- "$RELEASE/$BUNDLE/$FOLDER" "$old" || return 10
  mv -T -- "$FOLDER" "$RELEASE/$BUNDLE/$FOLDER" || return 10
  # mv does not replace a file by another name of it, which the upload may have made of an intact one.
  rm -f -- "$RELEASE/$BUNDLE/bundle.json" || return 10
  mv -T -- bundle.json "$RELEASE/$BUNDLE/bundle.json" || return 10
  cd / && rm -rf -- "$INCOMING" "$old"
fi

section said
if [ -n "$HAVE_SECRETS" ]; then
  umask 077
  # What a container was started with stays in .env until the next start, see start.sh.
  file=$RELEASE/.sparkc-secrets.env
  [ ! -e "$file" ] || file=$RELEASE/.sparkc-secrets.next
  # printf is bash's own: the text is in no process's arguments.
  printf '%s' "$SECRETS" >"$RELEASE/.sparkc-secrets.new" \
    && mv -f -T -- "$RELEASE/.sparkc-secrets.new" "$file" || return 10
fi
