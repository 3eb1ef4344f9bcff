"""Markdown of the page: paragraphs, items and tables."""

import textwrap

WIDTH = 100


def paragraph(text, indent=""):
    """Lines of at most WIDTH bytes, as tests/structure.sh counts them."""
    for width in range(WIDTH, WIDTH // 2, -1):
        lines = textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=" " * len(indent), break_long_words=False, break_on_hyphens=False)
        if all(len(line.encode()) <= WIDTH for line in lines):
            break
    return "\n".join(lines)


def item(text):
    return paragraph(text, "- ")


def table(columns, rows, numbers=()):
    lines = ["| " + " | ".join(columns) + " |", "|" + "|".join("--:" if index in numbers else "---" for index in range(len(columns))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows])


def ratio(value):
    return f"{value:.3f}"


def figure(value):
    return getattr(value, "text", str(value))


def time_text(ns):
    return f"{ns:.0f} ns" if ns < 1000 else f"{ns / 1000:.1f} µs"


def code(path):
    return f"[`{path}`](../{path})"
