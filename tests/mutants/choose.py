#!/usr/bin/env python3
"""Chooses the mutants that tests/mutants/run.sh tries, and remembers which were noticed.

  choose.py BUILD WORK [--touched] [--oldest SHARE] [NAME...]

A mutant that was noticed is remembered in BUILD/mutants/NAME, as "DIGEST SECONDS": a digest of what decides it (its own file, the file
that it edits, the files of the tests that it names, and these scripts) and the time (since 1970) when it was tried. While the digest
stays the same it need not be tried again.
  NAME...         these, remembered or not
  --touched       those whose file the last commits or the tree's changes touch and that are not remembered; of too many, and to make up
                  the least, some by a seed
  --oldest SHARE  besides what is not remembered, one in SHARE of all mutants: those that were tried longest ago
With DYN_TEST_AGAIN=yes nothing is remembered.

Writes WORK/groups/NUMBER, a file for the mutants of each unit of the build, with a line for each: name, digest, unit, file, program,
test, separated by tabs. Prints "failed NAME: reason" for each mutant whose test does not exist, and notes.
"""
import hashlib
import os
import pathlib
import random
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

MOST_TOUCHED, LEAST_TOUCHED, TOUCHED_COMMITS = 5, 2, 5
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUNNER = ("run.sh", "choose.py")


class Mutant:
    def __init__(self, path):
        self.name = path.stem
        self.text = path.read_text()
        fields = dict(re.findall(r"^# (\w+): (.*)$", self.text, re.M))
        self.file, self.program, self.test = fields["file"], fields["target"], fields["test"]
        self.test_files = []
        self.tried = 0  # seconds since 1970; 0: not remembered

    def digest(self):
        digest = hashlib.sha256(self.text.encode())
        for path in [ROOT / self.file, *self.test_files, *(HERE / name for name in RUNNER)]:
            content = pathlib.Path(path).read_bytes() if os.path.exists(path) else b"none"
            digest.update(hashlib.sha256(content).digest())
        return digest.hexdigest()


def cases_of(build, program):
    """(name, file) of each test case of a program."""
    listed = subprocess.run([build / "tests" / program, "--list-test-cases", "--reporters=xml"], capture_output=True, check=True)
    return [(case.get("name"), case.get("filename")) for case in xml.fromstring(listed.stdout).iter("TestCase")]


def find_tests(build, mutants):
    """Gives each mutant the files of its test cases, and returns those that have none. A program splits its argument at commas."""
    cases = {program: cases_of(build, program) for program in sorted({mutant.program for mutant in mutants})}
    missing = []
    for mutant in mutants:
        files = set()
        for words in mutant.test.split(","):
            pattern = re.compile(re.escape(words).replace(r"\*", ".*").replace(r"\?", "."), re.I | re.S)
            found = {file for name, file in cases[mutant.program] if pattern.fullmatch(name)}
            if not found and mutant not in missing:
                missing.append(mutant)
            files |= found
        mutant.test_files = sorted(files)
    return missing


def recall(build, mutant):
    """When the mutant was noticed with this digest; 0 where it was not, or where the memory is damaged or from the future."""
    try:
        digest, seconds = (build / "mutants" / mutant.name).read_text().split()
        seconds = int(seconds)
    except (OSError, ValueError):
        return 0
    return seconds if digest == mutant.digest() and 0 < seconds <= time.time() else 0


def touched_files():
    """Without git, none."""
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True).stdout.split()
    commits = git("rev-list", f"--max-count={TOUCHED_COMMITS + 1}", "HEAD")
    return set(git("diff", "--name-only", commits[-1])) if commits else set()


def choose_touched(mutants):
    seed = int(os.environ.get("DYN_SWEEP_SEED") or random.randrange(2**31))
    print(f"DYN_SWEEP_SEED={seed}")
    shuffled = random.Random(seed).sample(mutants, len(mutants))
    files = touched_files()
    first = [m for m in shuffled if not m.tried and {m.file, f"tests/mutants/{m.name}.sed"} & files][:MOST_TOUCHED]
    others = [m for m in shuffled if m not in first]
    return first + others[:max(0, LEAST_TOUCHED - len(first))]


def choose_oldest(mutants, share):
    new = [m for m in mutants if not m.tried]
    remembered = sorted((m for m in mutants if m.tried), key=lambda m: m.tried)
    return new + remembered[:(len(mutants) + share - 1) // share if share else 0]


def unit_of_each_file(build):
    units = {}
    for unit in sorted(build.glob("CMakeFiles/dyn_*.dir/Unity/*.cxx")):
        if "/dyn_test" not in str(unit):
            for file in re.findall(r'^#include "(.*)"$', unit.read_text(), re.M):
                units.setdefault(file, unit)
    return units


def write_groups(build, work, chosen):
    """The group whose oldest mutant was tried longest ago comes first, and the largest of several that are new."""
    units = unit_of_each_file(build)
    groups = {}
    for mutant in sorted(chosen, key=lambda m: m.tried):
        unit = units.get(str(ROOT / mutant.file))
        groups.setdefault(unit or mutant.name, []).append((mutant, unit.relative_to(build) if unit else "-"))
    folder = work / "groups"
    folder.mkdir(parents=True, exist_ok=True)
    ordered = sorted(groups.values(), key=lambda group: (group[0][0].tried, -len(group)))
    for number, group in enumerate(ordered):
        lines = ["\t".join([m.name, m.digest(), str(unit), m.file, m.program, m.test]) + "\n" for m, unit in group]
        (folder / f"{number:04}").write_text("".join(lines))


def main(words):
    options = {"--touched": False, "--oldest": 0}
    places = []
    while words:
        word = words.pop(0)
        if word == "--touched":
            options[word] = True
        elif word == "--oldest":
            options[word] = int(words.pop(0))
        else:
            places.append(word)
    build, work, names = pathlib.Path(places[0]), pathlib.Path(places[1]), places[2:]

    mutants = [Mutant(path) for path in sorted(HERE.glob("*.sed"))]
    missing = find_tests(build, mutants)
    for mutant in missing:
        print(f"failed {mutant.name}: {mutant.program} has no test case '{mutant.test}' (a comma in a name needs a wildcard)")
    if os.environ.get("DYN_TEST_AGAIN") != "yes":
        for mutant in mutants:
            mutant.tried = recall(build, mutant)
    unknown = set(names) - {mutant.name for mutant in mutants}
    for name in sorted(unknown):
        print(f"failed {name}: there is no tests/mutants/{name}.sed")
    if names:
        chosen = [mutant for mutant in mutants if mutant.name in names]
    elif options["--touched"]:
        chosen = choose_touched(mutants)
    else:
        chosen = choose_oldest(mutants, options["--oldest"])
    write_groups(build, work, [mutant for mutant in chosen if mutant not in missing])
    left = [mutant for mutant in mutants if mutant.tried and mutant not in chosen]
    if left and not names and not options["--touched"]:
        oldest = time.strftime("%Y-%m-%d %H:%M", time.gmtime(min(mutant.tried for mutant in left)))
        print(f"note: {len(left)} mutants are remembered as noticed, the oldest from {oldest} UTC")
    return 1 if missing or unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
