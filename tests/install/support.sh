# For the scripts here: `check NAME COMMAND...` prints "ok NAME" and the command's "note: ..." lines, or "failed NAME:" and the end of
# what the command printed. A script begins with `. support.sh BUILD_DIR` and ends with `exit $((failures > 0))`.
set -uo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$source_dir/../.." && pwd)
build_dir=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export DYN_CACHE_DIR=none
failures=0

check() {  # name, command...
  local name=$1
  shift
  if "$@" >"$scratch/log" 2>&1; then
    echo "ok $name"
    grep '^note: ' "$scratch/log" || true
  else
    echo "failed $name:"
    tail -20 "$scratch/log" | sed 's/^/    /'
    failures=$((failures + 1))
  fi
}

# A command that must fail with a message.
refused() {  # pattern of the message, command...
  local pattern=$1 message
  shift
  if message=$("$@" 2>&1); then
    echo "it succeeded: $message"
    return 1
  fi
  grep -E -- "$pattern" <<<"$message" || { echo "another message: $message"; return 1; }
}
