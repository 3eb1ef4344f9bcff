#!/usr/bin/env bash
# Operators of plug-ins (docs/operators.md) in models that dynrun runs.
#   tests/cli/plugins.sh BUILD_DIR
. "$(dirname "$0")/../support/cli.sh" "$@"
cd "$(dirname "$0")" || exit
plugins=$build/tests/plugins

printf 'dyn 1\ndim N in 1..64\ngraph g(x: f32[N, 4]) -> (y: f32[N, 2]) {\n  y = own::pairs(own::swish(x))\n  return y\n}\n' >"$scratch/plugged.dyn"
expect "a plug-in's operators run" 0 "\[3, 2\]" run "$scratch/plugged.dyn" --plugin "$plugins/scale.so" --dims N=3
expect "an expression is dyn's operators" 0 "sigmoid\(" inspect "$scratch/plugged.dyn" --plugin "$plugins/scale.so" --after parse
expect "no plug-in" 1 "unknown operator .own::pairs.; the program, or a plug-in, gives" run "$scratch/plugged.dyn" --dims N=3
expect "a plug-in of a newer version" 1 "built for version 2\.0.*" run "$scratch/plugged.dyn" --plugin "$plugins/newer.so" --dims N=3
has "a plug-in of a newer version, its file" "newer\.so"
expect "no such plug-in" 1 "cannot be loaded" run "$scratch/plugged.dyn" --plugin "$plugins/absent.so" --dims N=3
expect "a plug-in twice" 1 "two operators are called own::" run "$scratch/plugged.dyn" --plugin "$plugins/scale.so" --plugin "$plugins/scale.so" --dims N=3

python3 "../plugins/plugged_onnx.py" >"$scratch/plugged.onnx"
# right ROWS: y of the last run with that many rows is what plain loops in float64 make of its x.
right() {
  python3 - "$1" "$scratch" <<'END'
import math, struct, sys
rows, folder = int(sys.argv[1]), sys.argv[2]
def floats(name):
    file = open(f"{folder}/{name}.npy", "rb").read()
    data = file[10 + struct.unpack_from("<H", file, 8)[0]:]
    return struct.unpack(f"<{len(data) // 4}f", data)
x, y = floats("x"), floats("saved/y")
swished = [3 * e / (1 + math.exp(-3 * e)) for e in x]
expected = [max(0.0, swished[i] + swished[i + 1]) for i in range(0, len(x), 2)]
assert len(y) == 2 * rows == len(expected), (len(y), len(expected))
for got, wanted in zip(y, expected):
    assert abs(got - wanted) <= 1e-5 * (1 + abs(wanted)), (got, wanted)
END
}
for rows in 3 5; do
  python3 - "$rows" >"$scratch/x.npy" <<'END'
import struct, sys
rows = int(sys.argv[1])
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 4), }}".ljust(117) + "\n"
data = struct.pack(f"<{4 * rows}f", *[0.37 * i - 2 for i in range(4 * rows)])
sys.stdout.buffer.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)
END
  expect "an ONNX file with a plug-in's operators, $rows rows" 0 "\[$rows, 2\]" \
    run "$scratch/plugged.onnx" --plugin "$plugins/scale.so" --load-inputs "x=$scratch/x.npy" --save-outputs "$scratch/saved"
  check "its numbers, $rows rows" right "$rows"
done
expect "an ONNX file without its plug-in names the nodes" 1 "own\.pairs: 1 node.*pairs_node" run "$scratch/plugged.onnx" --dims N=3
has "and says what to do" "--plugin FILE"
expect "its text" 0 "" import "$scratch/plugged.onnx" --plugin "$plugins/scale.so" -o "$scratch/imported.dyn"
check "has dyn's operators for the expression, and the plug-in's" grep -q "sigmoid(" "$scratch/imported.dyn"
check "with their names" grep -q "own::scale(x) factor=3.0" "$scratch/imported.dyn"
expect "and runs" 0 "\[3, 2\]" run "$scratch/imported.dyn" --plugin "$plugins/scale.so" --dims N=3

finish
