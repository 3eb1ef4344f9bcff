#!/usr/bin/env python3
"""Tests of choose.py, on a tree of its own. Prints what is wrong; nothing where all is well."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
COUNT = 20
problems = []


def expect(holds, what):
    if not holds:
        problems.append(what)


class Tree:
    """Mutants m0 ... of files f0.cpp ..., the first ten of one unit; each has its own test case, in a file for two."""

    def __init__(self, folder):
        self.root, self.build = folder, folder / "build"
        self.mutants = folder / "tests/mutants"
        for place in (self.mutants, self.build / "tests", self.build / "CMakeFiles/dyn_part.dir/Unity", folder / "src"):
            place.mkdir(parents=True)
        for name in ("run.sh", "choose.py"):
            shutil.copy(HERE / name, self.mutants)
        listed = ""
        for i in range(COUNT):
            (self.mutants / f"m{i}.sed").write_text(f"# Broken.\n# file: src/f{i}.cpp\n# target: test_part\n# test: case {i} *\ns/a/b/\n")
            (folder / f"src/f{i}.cpp").write_text(f"int a{i};\n")
            (folder / f"tests/t{i // 2}.cpp").write_text("// tests\n")
            listed += f'<TestCase name="Case {i} notices" filename="{folder}/tests/t{i // 2}.cpp" line="1"/>'
        self.listed = f"<doctest>{listed}</doctest>"
        self.write_program(self.listed)
        (self.build / "CMakeFiles/dyn_part.dir/Unity/unit.cxx").write_text("".join(f'#include "{folder}/src/f{i}.cpp"\n' for i in range(10)))

    def write_program(self, listed):
        program = self.build / "tests/test_part"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{listed}\nEND\n")
        program.chmod(0o755)

    def choose(self, *words, again="no"):
        """The mutants of each group, what was printed, and the exit code."""
        work = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        run = subprocess.run([sys.executable, self.mutants / "choose.py", self.build, work, *words], capture_output=True, text=True,
                             env={**os.environ, "DYN_TEST_AGAIN": again, "DYN_SWEEP_SEED": "3"})
        if run.stderr:
            problems.append(run.stderr)
        self.lines = [[line.split("\t") for line in path.read_text().splitlines()] for path in sorted((work / "groups").glob("*"))]
        return [[fields[0] for fields in group] for group in self.lines], run.stdout, run.returncode

    def chosen(self, *words, **options):
        return {name for group in self.choose(*words, **options)[0] for name in group}

    def remember_all(self):
        """As run.sh does: m0 longest ago."""
        (self.build / "mutants").mkdir(exist_ok=True)
        self.choose(again="yes")
        for name, digest, *_ in (fields for group in self.lines for fields in group):
            (self.build / "mutants" / name).write_text(f"{digest} {int(time.time()) - 1000 + int(name[1:])}\n")


def test_all(tree):
    everything = {f"m{i}" for i in range(COUNT)}
    groups, told, code = tree.choose()
    expect(code == 0 and {name for group in groups for name in group} == everything, "without memory all are chosen")
    expect(set(groups[0]) == {f"m{i}" for i in range(10)} and all(len(group) == 1 for group in groups[1:]), "a unit's mutants are one group, the first")
    expect(tree.lines[0][0][2:] == ["CMakeFiles/dyn_part.dir/Unity/unit.cxx", "src/f0.cpp", "test_part", "case 0 *"], "what a group's line says")
    expect(tree.lines[1][0][2] == "-", "a file that is in no unit")

    tree.remember_all()
    expect(tree.chosen() == set(), "what is remembered is not chosen")
    told = tree.choose()[1]
    expect("20 mutants are remembered as noticed, the oldest from 2" in told, "what is remembered is told")
    expect(tree.chosen(again="yes") == everything, "DYN_TEST_AGAIN=yes chooses all")
    expect(tree.chosen("m7", "m3") == {"m3", "m7"}, "named ones are chosen, remembered or not")
    expect(tree.chosen("--oldest", "8") == {"m0", "m1", "m2"}, "one in 8 is chosen, those that were tried longest ago")
    expect(len(tree.chosen("--touched")) == 2, "without git two by a seed are chosen")

    for path, expected in (("src/f4.cpp", {"m4"}), ("tests/mutants/m5.sed", {"m5"}), ("tests/t3.cpp", {"m6", "m7"}), ("tests/mutants/run.sh", everything)):
        file = tree.root / path
        before = file.read_text()
        file.write_text(before + "# more\n")
        expect(tree.chosen() == expected, f"another {path} forgets {sorted(expected)}")
        expect(tree.chosen("--oldest", "20") == expected | {"m0"}, f"besides what {path} forgets the oldest is chosen")
        file.write_text(before)
    expect(tree.chosen() == set(), "files that are as they were are remembered again")

    for damage in ("", "x", "1 2 3", "\0\0", "0123 5"):
        (tree.build / "mutants/m9").write_text(damage)
        expect(tree.chosen() == {"m9"}, f"the memory {damage!r} is damaged")
    (tree.build / "mutants/m9").write_bytes(b"\xff\xfe 7")
    expect(tree.chosen() == {"m9"}, "a memory that is no text is damaged")
    tree.remember_all()
    digest = (tree.build / "mutants/m9").read_text().split()[0]
    for seconds in ("-5", "0", "99999999999", "soon"):
        (tree.build / "mutants/m9").write_text(f"{digest} {seconds}\n")
        expect(tree.chosen() == {"m9"}, f"a mutant was not tried at {seconds}")
    tree.remember_all()

    tree.write_program(tree.listed.replace("Case 11 notices", "another name"))
    groups, told, code = tree.choose()
    expect(code == 1 and "failed m11: test_part has no test case 'case 11 *'" in told, "a test that has another name is missed, though it is remembered")
    tree.write_program(tree.listed)
    groups, told, code = tree.choose("m99")
    expect(code == 1 and groups == [] and "failed m99: there is no" in told, "a mutant that does not exist")


with tempfile.TemporaryDirectory() as folder:
    test_all(Tree(pathlib.Path(folder).resolve()))
print("\n".join(problems), end="\n" if problems else "")
sys.exit(bool(problems))
