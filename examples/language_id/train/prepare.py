#!/usr/bin/env python3
"""Makes the data set of examples/language_id from manual pages in Debian's packages.

    python3 prepare.py --work DIR [--download]

--download fetches the packages with `apt-get download` into DIR/debs (once);
without it DIR/debs must hold them.  They are unpacked with `dpkg -x` into
DIR/root (emptied before), and four files are written: DIR/train.tsv,
DIR/valid.tsv and DIR/test.tsv, each line `code<TAB>page<TAB>line`, UTF-8, the
page as its path below /usr/share/man; and DIR/packages.txt, the packages with
their versions.  Only the standard library is used; the same packages give the
same files.

From page to lines
  1. Pages in the mdoc macro language, links (`.so`) and pages that are not
     valid UTF-8 are skipped.
  2. Comments, ignored blocks (.ig), macro definitions (.de), tables (.TS),
     equations (.EQ) and everything set without filling (.nf, .EX: program
     text) are removed.  Font macros (.B, .BR, ...) and escapes are replaced by
     the text they stand for.  Headings are not used.
  3. What lies between two macros that break a line is a paragraph.  It is
     filled into lines of at most 72 columns, as `man` does on a terminal; a
     CJK character takes two columns.

Split
  A page goes to train (80 %), valid (5 %) or test (15 %) by a hash of its name
  without section.  The translations of one page all go to the same split.

Filter (the same for all three splits)
  "Key" of a line: case-folded, digits and punctuation removed, spaces single.
  a. no prose: a word is a run of letters between spaces, apart from
     punctuation at its ends, of two letters or more, not all in capitals.  A
     line needs three different words, its words must be 55 % of what stands
     between spaces, and 70 % of its characters must be letters or spaces.
     In Chinese and Japanese, which put no spaces: six letters of the script,
     which are half of its characters; Japanese at least one kana in five,
     Chinese no kana.
  b. script: 70 % of the letters of a line belong to the script of the language.
  c. untranslated English in a translated page: where one word in seven or more
     is an English function word that is none in the other languages
     (ENGLISH_WORDS below), the line is dropped.
  d. two languages: a line whose key stands in pages of two languages is dropped
     from all of them (names, licence notices, text that was left untranslated).
     The key is taken over all lines, those that fail a. to c. included.
  e. twice: of the lines with one key, one is kept; of a key that stands in pages
     of several splits, the one in train, else the one in test.  So no line is in
     two splits, not even one that differs only in digits or punctuation.

At most LIMIT lines of a language are kept in train and HELD in valid and test,
chosen by hash; languages with fewer than MINIMUM lines in train are left out.
"""

import argparse
import collections
import gzip
import os
import shutil
import subprocess
import unicodedata

from pages import hashed, pages, split_of
from paragraphs import fill, paragraphs
from prose import key, prose

PACKAGES = """
manpages manpages-dev coreutils util-linux mount fdisk bash systemd apt dpkg tar grep
findutils diffutils procps sed gawk less
manpages-cs manpages-cs-dev manpages-da manpages-da-dev manpages-de manpages-de-dev
manpages-es manpages-es-dev manpages-fi manpages-fr manpages-fr-dev manpages-hu
manpages-id manpages-it manpages-it-dev manpages-ja manpages-ja-dev manpages-nb
manpages-nl manpages-nl-dev manpages-pl manpages-pl-dev manpages-pt-br
manpages-pt-br-dev manpages-ro manpages-ru manpages-ru-dev manpages-sr manpages-sv
manpages-tr manpages-uk manpages-uk-dev manpages-vi manpages-zh
""".split()

LIMIT = 12000     # lines of a language in train
HELD = 1000       # lines of a language in valid and in test
MINIMUM = 500     # lines in train below which a language is left out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", required=True, help="folder for packages and results")
    parser.add_argument("--download", action="store_true", help="fetch the packages with apt-get")
    args = parser.parse_args()
    debs, root = os.path.join(args.work, "debs"), os.path.join(args.work, "root")
    os.makedirs(debs, exist_ok=True)
    if args.download:
        subprocess.run(["apt-get", "download"] + PACKAGES, cwd=debs, check=True)
    shutil.rmtree(root, ignore_errors=True)
    versions = []
    present = {}
    for name in sorted(os.listdir(debs)):
        if name.endswith(".deb") and name.split("_")[0] in PACKAGES:
            present[name.split("_")[0]] = os.path.join(debs, name)
    missing = [p for p in PACKAGES if p not in present]
    if missing:
        raise SystemExit("packages missing (use --download): " + " ".join(missing))
    for package, path in sorted(present.items()):
        subprocess.run(["dpkg", "-x", path, root], check=True)
        versions.append(subprocess.run(["dpkg-deb", "-W", path], check=True, text=True,
                                       capture_output=True).stdout.strip())
    with open(os.path.join(args.work, "packages.txt"), "w") as f:
        f.write("\n".join(versions) + "\n")

    lines = []                                   # (code, split, path, line, key)
    languages_of = collections.defaultdict(set)  # key -> languages
    splits_of = collections.defaultdict(set)
    page_count, skipped = collections.Counter(), 0
    for code, page, source_path, path in pages(root):
        try:
            with gzip.open(path, "rt", encoding="utf-8", newline="\n") as f:
                source = f.read()
        except UnicodeDecodeError:
            skipped += 1
            continue
        found = paragraphs(unicodedata.normalize("NFC", source))
        if found is None:
            skipped += 1
            continue
        page_count[code] += 1
        split = split_of(page)
        for text in found:
            for line in fill(text):
                k = key(line)
                if k:
                    lines.append((code, split, source_path, line, k))
                    languages_of[k].add(code)
                    splits_of[k].add(split)
    print(f"{sum(page_count.values())} pages, {skipped} skipped, {len(lines)} lines")

    dropped = collections.defaultdict(collections.Counter)
    kept = collections.defaultdict(lambda: collections.defaultdict(list))
    seen = set()
    for code, split, page, line, k in lines:
        reason = prose(line, code)
        if reason is None and len(languages_of[k]) > 1:
            reason = "two languages"
        if reason is None and (k in seen or split != "train" and len(splits_of[k]) > 1
                               and "train" in splits_of[k]):
            reason = "twice"
        if reason is None and split == "valid" and "test" in splits_of[k]:
            reason = "twice"
        if reason is not None:
            dropped[code][reason] += 1
            continue
        seen.add(k)
        kept[code][split].append((hashed(code + line), page, line))

    rules = ["no prose", "script", "English", "two languages", "twice"]
    print("code  pages  " + "  ".join(f"{r:>13}" for r in rules) + "    kept   train  valid   test")
    labels = []
    chosen = collections.defaultdict(list)
    for code in sorted(kept):
        sizes = {s: len(kept[code][s]) for s in ("train", "valid", "test")}
        if sizes["train"] >= MINIMUM:
            labels.append(code)
            for split in sizes:
                limit = LIMIT if split == "train" else HELD
                for _, page, line in sorted(kept[code][split])[:limit]:
                    chosen[split].append((code, page, line))
        mark = "" if sizes["train"] >= MINIMUM else "  left out"
        print(f"{code:>4}  {page_count[code]:5}  "
              + "  ".join(f"{dropped[code][r]:13}" for r in rules)
              + f"  {sum(sizes.values()):6}  {sizes['train']:6} {sizes['valid']:6} {sizes['test']:6}{mark}")
    for split, rows in chosen.items():
        with open(os.path.join(args.work, split + ".tsv"), "w", encoding="utf-8") as f:
            for code, page, line in rows:
                f.write(f"{code}\t{page}\t{line}\n")
        print(f"{split}.tsv: {len(rows)} lines")
    print(f"{len(labels)} languages: " + " ".join(labels))


if __name__ == "__main__":
    main()
