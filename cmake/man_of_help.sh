#!/usr/bin/env bash
# A page for man of what a small program's --help says: man_of_help.sh PROGRAM VERSION SUMMARY
set -eu
name=$(basename "$1")
printf '.TH %s 1 "" "dyn %s" "User Commands"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n' "${name^^}" "$2" "$name" "$3"
"$1" --help 2>&1 | sed 's/\\/\\e/g; s/-/\\-/g; s/^\./\\\&./'
printf '.fi\n.SH SEE ALSO\n.BR dynrun (1)\n'
