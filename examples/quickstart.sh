#!/usr/bin/env bash
# From a fresh clone to numbers: installs what is missing, builds, tells the language of a few lines, and times BERT-base at
# every length.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/install_packages.sh
cmake --preset release -DDYN_TESTS=OFF >/dev/null
cmake --build --preset release

echo
echo "== The language of each line (examples/language_id)"
lines='Where is the nearest railway station?
Wo ist der nächste Bahnhof?
Où se trouve la gare la plus proche ?
¿Dónde está la estación de tren más cercana?
Dov'"'"'è la stazione ferroviaria più vicina?
Gdzie jest najbliższy dworzec kolejowy?
Где находится ближайший вокзал?
最近的火车站在哪里？
一番近い駅はどこですか。'
paste <(build/release/bin/language_id <<<"$lines") - <<<"$lines"

echo
echo "== BERT-base, random weights, every length (dynrun bench)"
build/release/bin/dynrun bench examples/models/bert_base.dyn --random-weights --dims B=1,8 --dims S=1..512*2
