"""Text of roff source: what escapes stand for, and the arguments of macros."""

import re
import unicodedata

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
