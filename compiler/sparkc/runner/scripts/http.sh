# Sends REQUEST to HOST:PORT as it is and prints the answer. Exit codes: 10 nothing listens there, 124 no answer within
# LIMIT seconds. No port forwarding, which sshd may refuse, and no program that a node may lack. The request, with the
# key that may be in it, is in no process list.
section answer
# shellcheck disable=SC2016 # the inner bash expands them
printf '%s' "$REQUEST" |
  timeout "$LIMIT" bash -c '{ exec 4<>"/dev/tcp/$0/$1"; } 2>/dev/null || exit 10; cat >&4; cat <&4' "$HOST" "$PORT"
