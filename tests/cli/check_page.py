#!/usr/bin/env python3
"""check_page.py FILE -- fails if a page loads anything, has elements that do not nest, scripts that its policy forbids, or
parts in another order than that of a tired reader (render/page/README.md)."""
import base64
import hashlib
import html.parser
import re
import sys

ORDER = ["header", "quality", "verdict", "kpis", "findings", "nav", "theme", "footer"]
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.scripts, self.ids, self.parts = [], [], set(), []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        for name in ("src", "srcset", "poster", "data", "action", "background"):
            assert name not in values, f"<{tag} {name}>"
        assert not any(name.startswith("on") for name in values), tag
        assert tag not in ("img", "link", "iframe", "object", "embed", "base"), tag
        if tag == "a":
            assert not re.match(r"[a-z]+:", values.get("href", "")), values
        if "id" in values and "svg" not in self.open:  # pictures bring their own patterns, always the same
            assert values["id"] not in self.ids, values["id"]
            self.ids.add(values["id"])
        if tag == "script" and "type" not in values:
            self.scripts.append("")
        if self.open[-1:] == ["main"]:
            self.parts.append(values.get("class", tag))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "script" and self.scripts:
            self.scripts[-1] += data


text = open(sys.argv[1], encoding="utf-8").read()
page = Page()
page.feed(text)
page.close()
assert not page.open, page.open
assert set(page.parts) <= set(ORDER) and page.parts == sorted(page.parts, key=ORDER.index), page.parts
policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
assert policy.startswith("default-src 'none'"), policy
for script in page.scripts:
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy, script[:60]
assert not re.search(r"url\((?!#)|@import", text.split("</style>")[0]), "a style that loads"
