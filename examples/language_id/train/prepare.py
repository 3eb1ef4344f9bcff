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
import hashlib
import os
import re
import shutil
import subprocess
import unicodedata

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

# Folder below /usr/share/man -> ISO 639-1 code.
FOLDERS = {
    "cs": "cs", "da": "da", "de": "de", "es": "es", "fi": "fi", "fr": "fr",
    "hu": "hu", "id": "id", "it": "it", "ja": "ja", "nb": "nb", "nl": "nl",
    "pl": "pl", "pt": "pt", "pt_BR": "pt", "ro": "ro", "ru": "ru", "sr": "sr", "sv": "sv",
    "tr": "tr", "uk": "uk", "vi": "vi", "zh_CN": "zh", "zh_TW": "zh",
}

LIMIT = 12000     # lines of a language in train
HELD = 1000       # lines of a language in valid and in test
MINIMUM = 500     # lines in train below which a language is left out
COLUMNS = 72

CYRILLIC = {"ru", "sr", "uk"}

ENGLISH_WORDS = set("""
the and this that these those with which from are been not you your would should
could must might when where what their they then than there into only other each
such same using its it does
""".split())


# ---- roff to paragraphs -----------------------------------------------------

GLYPHS = {
    "hy": "-", "en": "\u2013", "em": "\u2014", "lq": "\u201c", "rq": "\u201d",
    "oq": "\u2018", "cq": "\u2019", "aq": "'", "dq": '"', "bu": "\u2022",
    "co": "\u00a9", "rg": "\u00ae", "mu": "\u00d7", "ha": "^", "ti": "~",
    "rs": "\\", "ga": "`", "mi": "-", "pl": "+", "->": "\u2192", "<-": "\u2190",
    ">=": "\u2265", "<=": "\u2264", "ss": "\u00df", "Fo": "\u00ab", "Fc": "\u00bb",
    "fo": "\u2039", "fc": "\u203a", "Bq": "\u201e", "bq": "\u201a", "sc": "\u00a7",
    "+-": "\u00b1", "at": "@", "sh": "#", "Do": "$", "or": "|", "ba": "|", "sl": "/",
    "lB": "[", "rB": "]", "lC": "{", "rC": "}", "la": "<", "ra": ">", "de": "\u00b0",
}
ACCENTS = {":": "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303",
           ",": "\u0327", "o": "\u030a", "v": "\u030c"}


def glyph(name):
    if name in GLYPHS:
        return GLYPHS[name]
    if re.fullmatch(r"u[0-9A-F]{4,5}", name):
        return chr(int(name[1:], 16))
    if len(name) == 2 and name[0] in ACCENTS and name[1].isalpha():
        return unicodedata.normalize("NFC", name[1] + ACCENTS[name[0]])
    return ""


ESCAPE = re.compile(r"""\\(?:
      (?P<comment>["\#].*$)
    | [fmMFgn](?:\((?:..)|\[[^\]]*\]|.)               # font, colour, register
    | s(?:[+-]?\d{1,2}|[+-]?\[[^\]]*\]|[+-]?\(..)     # size
    | [hvwDlLbCNSxXoZ]'[^']*'                         # with a quoted argument
    | \*(?P<string>\((?:..)|\[[^\]]*\]|.)             # string
    | \((?P<two>..)
    | \[(?P<long>[^\]]*)\]
    | (?P<space>[ ~0])
    | (?P<literal>[-.'`])
    | (?P<backslash>[e\\])
    | t
    | (?P<other>.)
    | $
    )""", re.X)
STRINGS = {"(lq": "\u201c", "(rq": "\u201d", "(Aq": "'", "R": "\u00ae", "(Tm": "\u2122"}


def unescape(text):
    def one(m):
        if m["string"] is not None:
            return STRINGS.get(m["string"], "")
        if m["two"] is not None:
            return glyph(m["two"])
        if m["long"] is not None:
            return glyph(m["long"])
        if m["space"] is not None:
            return " "
        if m["literal"] is not None:
            return m["literal"]
        if m["backslash"] is not None:
            return "\\"
        return ""
    return ESCAPE.sub(one, text)


def arguments(text):
    """The arguments of a macro: separated by blanks, quoted with \"...\"."""
    found, i = [], 0
    while i < len(text):
        if text[i] in " \t":
            i += 1
        elif text[i] == '"':
            end, word = i + 1, ""
            while end < len(text):
                if text[end] == '"':
                    if text[end + 1:end + 2] == '"':
                        word += '"'
                        end += 2
                        continue
                    break
                word += text[end]
                end += 1
            found.append(word)
            i = end + 1
        else:
            end = i
            while end < len(text) and text[end] not in " \t":
                end += 2 if text[end] == "\\" else 1
            found.append(text[i:end])
            i = end
    return found


def wide(c):
    return unicodedata.east_asian_width(c) in "WF"


def join(parts):
    """Source lines to one text; no blank between two wide characters."""
    text = ""
    for part in parts:
        part = " ".join(part.split())
        if text and part and not (wide(text[-1]) and wide(part[0])):
            text += " "
        text += part
    return text


def paragraphs(source):
    """The filled paragraphs of a page; None for a page that is not used."""
    result, parts = [], []
    lines = source.split("\n")
    until = None            # name of the macro that ends the block being skipped
    unfilled = False
    heading = False         # the next text line is a heading
    tag = False             # the next text line is a paragraph of its own

    def end():
        if parts:
            text = join(parts)
            if text:
                result.append(text)
            parts.clear()

    for line in lines:
        if until is not None:
            if re.match(r"\.\s*" + re.escape(until), line):
                until = None
            continue
        if line.startswith((".", "'")):
            m = re.match(r"[.']\s*([^\s\\\"]*)(.*)$", line, re.S)
            macro, rest = m[1], m[2].strip()
            if macro in ("Dd", "Dt", "Sh", "so"):
                return None
            if macro == "ig":
                until = rest.strip() or "."
            elif macro in ("de", "de1", "am"):
                until = "."
            elif macro == "TS":
                end()
                until = "TE"
            elif macro == "EQ":
                until = "EN"
            elif macro in ("nf", "EX", "Vb", "Bd"):
                end()
                unfilled = True
            elif macro in ("fi", "EE", "Ve", "Ed"):
                unfilled = False
            elif macro in ("SH", "SS"):
                end()
                unfilled = False
                heading = not rest.strip()
            elif macro in ("B", "I", "SM", "SB", "BR", "BI", "IR", "IB", "RB", "RI"):
                if heading or not rest:
                    heading = False
                elif not unfilled:
                    glue = " " if macro in ("B", "I", "SM", "SB") else ""
                    parts.append(unescape(glue.join(arguments(rest))))
                    if tag:
                        end()
                        tag = False
            elif macro in ("", "ft", "UR", "UE", "MT", "ME", "PD", "ad", "na", "hy", "nh",
                           "ne", "\\}", "lg", "ll", "cs", "ps"):
                pass
            else:           # .TP, .PP, .IP, .br, .sp, ... and unknown ones
                end()
                tag = macro in ("TP", "TQ")
            continue
        if heading:
            heading = False
        elif unfilled:
            pass
        elif not line.strip():
            end()
        else:
            if line[0] in " \t":
                end()
            parts.append(unescape(line))
            if tag:
                end()
                tag = False
    end()
    return result


def fill(text):
    """A paragraph as lines of at most COLUMNS columns."""
    pieces = []             # (piece, blank before it)
    for word in text.split(" "):
        first = True
        for piece in re.findall(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]"
                                r"[\u3001\u3002\uff0c\uff0e\uff09\u300d]*"
                                r"|[^\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+",
                                word):
            pieces.append((piece, first))
            first = False
    lines, line, width = [], "", 0
    for piece, blank in pieces:
        columns = sum(2 if wide(c) else 0 if unicodedata.combining(c) else 1 for c in piece)
        if line and width + blank + columns > COLUMNS:
            lines.append(line)
            line, width = "", 0
        if line and blank:
            line += " "
            width += 1
        line += piece
        width += columns
    if line:
        lines.append(line)
    return lines


# ---- filter -----------------------------------------------------------------

def key(line):
    kept = "".join(c if c.isalpha() or unicodedata.combining(c) else " "
                   for c in line.casefold())
    return " ".join(kept.split())


def script(c):
    n = ord(c)
    if n < 0x250 or 0x1e00 <= n < 0x1f00 or 0x300 <= n < 0x370:
        return "latin"
    if 0x400 <= n < 0x530:
        return "cyrillic"
    if 0x3040 <= n < 0x3100 or 0x31f0 <= n < 0x3200:
        return "kana"
    if 0x3400 <= n < 0xa000 or n == 0x3005:
        return "han"
    return "other"


def words_of(line):
    return line.replace("/", " ").split()


def prose(line, code):
    """None when the line is prose of the language, else the name of the rule it fails."""
    letters = [script(c) for c in line if c.isalpha()]
    if not letters:
        return "no prose"
    if code in ("zh", "ja"):
        kana, han = letters.count("kana"), letters.count("han")
        if kana + han < 6 or 2 * (kana + han) < len(line):
            return "no prose"
        if code == "ja" and 5 * kana < kana + han or code == "zh" and kana:
            return "script"
        return None
    tokens = words_of(line)
    words = []
    for token in tokens:
        bare = re.sub(r"^\W+|\W+$", "", token)
        if (len(bare) >= 2 and all(c.isalpha() or c in "-'\u2019" or unicodedata.combining(c)
                                   for c in bare) and bare.upper() != bare):
            words.append(bare.casefold())
    blank = sum(c.isalpha() or c == " " for c in line)
    if len(set(words)) < 3 or len(words) < 0.55 * len(tokens) or blank < 0.7 * len(line):
        return "no prose"
    own = letters.count("cyrillic" if code in CYRILLIC else "latin")
    if own < 0.7 * len(letters):
        return "script"
    if code != "en" and 7 * sum(w in ENGLISH_WORDS for w in words) >= len(words):
        return "English"
    return None


# ---- pages ------------------------------------------------------------------

def hashed(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def split_of(page):
    share = hashed("page " + page) % 100
    return "test" if share < 15 else "valid" if share < 20 else "train"


def pages(root):
    """(code, page name, path below man, path) of every page, in a fixed order."""
    base = os.path.join(root, "usr/share/man")
    for folder in sorted(os.listdir(base)):
        if re.fullmatch(r"man\d\w*", folder):
            code, sections = "en", [os.path.join(base, folder)]
        elif folder in FOLDERS:
            code = FOLDERS[folder]
            sections = [os.path.join(base, folder, s)
                        for s in sorted(os.listdir(os.path.join(base, folder)))]
        else:
            continue
        for section in sections:
            for name in sorted(os.listdir(section)):
                path = os.path.join(section, name)
                if not os.path.islink(path) and name.endswith(".gz"):
                    page = re.sub(r"\.[^.]*$", "", name[:-3]).lower()
                    yield code, page, os.path.relpath(path, base)[:-3], path


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
