#!/usr/bin/env bash
# What is made of the command line's own definition: docs/command_line.md, the manual page, and completion in bash, zsh and fish.
#   tests/cli/help.sh BUILD_DIR
# DYN_UPDATE_GOLDEN=1 rewrites docs/command_line.md.
. "$(dirname "$0")/../support/cli.sh" "$@"
cd "$(dirname "$0")/../.."

expect "help needs a form" 1 "of what form" help
expect "help of two forms" 2 "excludes" help --man --markdown
expect "completion of an unknown shell" 2 "tcsh" help --completion tcsh
"$dynrun" --help >"$scratch/all"
report "help is not in the help" "$(grep -E '^ +help ' "$scratch/all")"

[ "${DYN_UPDATE_GOLDEN:-}" != 1 ] || "$dynrun" help --markdown >docs/command_line.md
report "docs/command_line.md is made of the command line" "$("$dynrun" help --markdown | diff docs/command_line.md - 2>&1 | head -20)"
"$dynrun" help --man >"$scratch/dynrun.1"
for shell in bash zsh fish; do "$dynrun" help --completion $shell >"$scratch/dynrun.$shell"; done

# Each flag of each command, by the help that CLI11 writes itself.
missing=
commands=$(sed -n '/^Subcommands:/,$s/^  \([a-z]*\)  .*/\1/p' "$scratch/all")
for command in $commands; do
  for flag in $("$dynrun" "$command" --help | grep -oE '^  (-[a-zA-Z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
    grep -qF -- "$command:$flag)" "$scratch/dynrun.bash" || grep -qE "^    $command\) flags='[^']*$flag" "$scratch/dynrun.bash" || missing+="bash: $command $flag"$'\n'
    grep -qE "__fish_seen_subcommand_from $command' .*-l ${flag#--} " "$scratch/dynrun.fish" || missing+="fish: $command $flag"$'\n'
    awk "/^      $command\\)/,/;;/" "$scratch/dynrun.zsh" | grep -F -- "$flag[" >/dev/null || missing+="zsh: $command $flag"$'\n'
    awk -v command="$command" '/^\.S[SH]/ { here = index($0, "dynrun " command "\\") } here' "$scratch/dynrun.1" | grep -F -- "\\fB${flag//-/\\-}\\fR" >/dev/null || missing+="man: $command $flag"$'\n'
    awk -v command="$command" '/^## / { here = $0 == "## dynrun " command } here' docs/command_line.md | grep -F -- "\`$flag\`" >/dev/null || [ "$flag" = --help ] || missing+="page: $command $flag"$'\n'
  done
done
[ "$(wc -w <<<"$commands")" -ge 11 ] || missing+="only these commands: $commands"
report "each flag of each command is in all of them" "$missing"

if command -v man >/dev/null; then
  report "man has nothing to say against the page" "$(LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -E UTF-8 -l -Tutf8 -Z "$scratch/dynrun.1" 2>&1 >/dev/null)"
else
  echo "skipped help.man: man is not installed"
fi

# complete_bash WORD...: what bash offers for the last of them.
complete_bash() {
  bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dynrun; echo "${COMPREPLY[@]}"' _ "$scratch/dynrun.bash" "$@"
}
offers() {  # shell, name, expected, words...
  local shell=$1 name=$2 expected=$3 got
  shift 3
  got=$("complete_$shell" "$@" 2>&1)
  [ "$got" = "$expected" ] && got= || got="it offers '$got'"
  report "$shell completes $name" "$got"
}
(cd "$scratch" && mkdir folder && touch model.onnx)
offers bash "a command" quantize dynrun qu
offers bash "a flag" "--device --device-memory" dynrun run --dev
offers bash "a flag behind a model" "--seed" dynrun bench model.onnx --threads 1 --se
offers bash "a choice" "cpu cuda" dynrun run --device c
offers bash "a choice behind a sign" "cuda" dynrun run --device = cu
offers bash "a command of a command" "clear" dynrun cache c
offers bash "the flags before a command" "--help" dynrun --h
pushd "$scratch" >/dev/null
offers bash "a file" model.onnx dynrun run mod
offers bash "a folder" folder dynrun run --save-outputs fo
popd >/dev/null

if command -v fish >/dev/null; then
  complete_fish() { HOME=$scratch fish --no-config -c 'source $argv[1]; complete -C "$argv[2..]"' "$scratch/dynrun.fish" "$@" | cut -f1 | paste -sd' '; }
  offers fish "a command" quantize dynrun qu
  offers fish "a flag" "--device --device-memory" dynrun run --dev
  offers fish "a choice" "cpu cuda" dynrun run m.dyn --device c
  offers fish "a command of a command" "clear" dynrun cache cl
else
  echo "skipped help.fish: fish is not installed"
fi

if command -v zsh >/dev/null; then
  mkdir "$scratch/zsh" && cp "$scratch/dynrun.zsh" "$scratch/zsh/_dynrun"
  # A shell with a terminal of its own, into which words and tabs are typed, until it shows the pattern.
  cat >"$scratch/type.zsh" <<'Z'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "fpath=($1 \$fpath); autoload -Uz compinit && compinit -u -D; PS1=READY; PS1=\$PS1'>'"
zpty -r shell got '*READY>*'
zpty -w -n shell $2$'\t\t'
zpty -r shell got "*$3*"
Z
  types() {  # name, words, pattern
    check "zsh completes $1" timeout 300 zsh -f "$scratch/type.zsh" "$scratch/zsh" "$2" "$3"
  }
  types "a command" "dynrun qu" "quantize"
  types "a flag" "dynrun run --sav" "--save-outputs"
  types "a choice" "dynrun run m.dyn --device emu" "emulator"
  types "a command of a command" "dynrun cache cl" "clear"
else
  echo "skipped help.zsh: zsh is not installed"
fi
finish
