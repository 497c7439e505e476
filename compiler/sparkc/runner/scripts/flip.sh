# Makes DIGEST the current release of the bundle whose folder is BASE; what was current becomes the previous one.
exec 2>&1
section said
cd -- "$BASE" || return 10

# point NAME TARGET: a link that is never missing, nor half there.
point() {
  rm -f -- ".$1.new"
  ln -s -- "$2" ".$1.new" && mv -f -T -- ".$1.new" "$1"
}

date +%s >"releases/$DIGEST/deployed" || return 10
now=$(readlink -- current)
if [ -n "$now" ] && [ "$now" != "releases/$DIGEST" ]; then
  point previous "$now" || return 10
fi
point current "releases/$DIGEST" && rm -f -- "releases/$DIGEST/.sparkc-secrets.old"
