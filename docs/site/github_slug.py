"""github_slug.py: anchors of headings as GitHub makes them, so that a link works in both places."""

import re


def slugify(text: str, _separator: str) -> str:
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
