# What failed in the log of a doctest program: of the first failed cases the head (file and line, name, subcases), then the failed checks
# with their values and what was logged; of the others the head's place and name. A report of a sanitizer counts as a case.
#
#   awk -f tests/failed_cases.awk LOG        -v cases=5 -v lines=30 sets the bounds
#
# Prints nothing where nothing failed.
BEGIN {
  if (!cases) cases = 5
  if (!lines) lines = 30
  width = 300
}
function show(line) { print (length(line) > width ? substr(line, 1, width) " ..." : line) }
# A case may have several heads in a log, one for each path through its subcases. They share the case's lines.
function fail() {
  if (!(key in room)) {
    room[key] = ++failed <= cases ? lines : 0
    if (failed > cases) others = others "  " place " " name "\n"
  }
  ++checks[key]
  if (room[key] > 0 && !headed) { printf "%s", head; headed = 1 }
  checking = 1
}
/^=+$/ && length == 79 { checking = 0; heading = 1; headed = 0; head = place = name = ""; next }
heading && /^$/ { heading = 0; next }
heading {
  head = head $0 "\n"
  if (place == "") { key = place = $0 }
  if (/^TEST CASE:/) { name = $0; sub(/^TEST CASE: */, "", name) }
  next
}
/^[^ ]+:[0-9]+: (FATAL )?ERROR: / { checking = 0; fail() }
/^==[0-9]+==ERROR: |: runtime error: |^WARNING: ThreadSanitizer/ {
  checking = 0
  key = place = $0
  name = head = ""
  fail()
}
/^[0-9.]+ s: |^DYN_[A-Z_]*SEED=|^\[doctest\] |^[^ ]+:[0-9]+: (MESSAGE|WARNING): / { checking = 0; next }
checking && room[key] > 0 { show($0); --room[key] }
END {
  for (key in checks) if (checks[key] > 1 && room[key] == 0) print checks[key] " checks failed in " key
  if (others != "") printf "and in %d cases more:\n%s", failed - cases, others
}
