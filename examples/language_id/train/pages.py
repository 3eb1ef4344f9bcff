"""The manual pages below a folder, their languages, and the split that each belongs to."""

import hashlib
import os
import re

# Folder below /usr/share/man -> ISO 639-1 code.
FOLDERS = {
    "cs": "cs", "da": "da", "de": "de", "es": "es", "fi": "fi", "fr": "fr",
    "hu": "hu", "id": "id", "it": "it", "ja": "ja", "nb": "nb", "nl": "nl",
    "pl": "pl", "pt": "pt", "pt_BR": "pt", "ro": "ro", "ru": "ru", "sr": "sr", "sv": "sv",
    "tr": "tr", "uk": "uk", "vi": "vi", "zh_CN": "zh", "zh_TW": "zh",
}


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
