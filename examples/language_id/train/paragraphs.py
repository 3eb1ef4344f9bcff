"""From a page's source to paragraphs, and from a paragraph to lines."""

import re
import unicodedata

from roff import arguments, unescape

COLUMNS = 72


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
