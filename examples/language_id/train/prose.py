"""Whether a line is prose of its language: rules a. to c. of prepare.py, and the key of rules d. and e."""

import re
import unicodedata

CYRILLIC = {"ru", "sr", "uk"}

ENGLISH_WORDS = set("""
the and this that these those with which from are been not you your would should
could must might when where what their they then than there into only other each
such same using its it does
""".split())


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
