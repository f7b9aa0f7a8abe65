# SPDX-License-Identifier: Apache-2.0
"""The site as it is read: every link and picture leads somewhere, nothing is fetched from elsewhere, and blocks of code are code.
Usage: check.py FOLDER
"""

import ast
import html.parser
import json
import os
import subprocess
import sys
import tomllib
import urllib.parse

FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
NO_FETCH = {"canonical", "next", "prev", "alternate"}
LEAST_PAGES, LEAST_BLOCKS = 150, 300


class Page(html.parser.HTMLParser):
    """ids, links and blocks of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.fetched, self.blocks = set(), [], [], []
        self._language, self._code = None, None
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if given.get("id"):
            self.ids.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if given.get(FETCHED.get(tag, "")) and given.get("rel") not in NO_FETCH:
            self.fetched.append(given[FETCHED[tag]])
        classes = (given.get("class") or "").split()
        if tag == "div":
            self._language = next((name[9:] for name in classes if name.startswith("language-")), self._language)
        if tag == "code" and self._code is None and self._language:
            self._code = []

    def handle_data(self, data):
        if self._code is not None:
            self._code.append(data)

    def handle_endtag(self, tag):
        if tag == "code" and self._code is not None:
            self.blocks.append((self._language, "".join(self._code)))
            self._code = self._language = None


def check_links(root, pages):
    for path, page in pages.items():
        for link in {*page.links, *page.fetched}:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            there = os.path.join(there, "index.html") if os.path.isdir(os.path.join(root, there)) else there
            if not os.path.exists(os.path.join(root, there)):
                yield f"{path}: {link}: nothing is there"
            elif parts.fragment and there in pages and urllib.parse.unquote(parts.fragment) not in pages[there].ids \
                    and not parts.fragment.startswith("__"):
                yield f"{path}: {link}: the page has no such heading"


def check_fetched(pages):
    for path, page in pages.items():
        for link in page.fetched:
            if urllib.parse.urlsplit(link).netloc:
                yield f"{path}: {link} is fetched from elsewhere"


def check_blocks(pages):
    """Of documents, not of what is made from sources: Python parses, JSON and TOML too; C goes through the compiler's lexer, and its
    braces match."""
    for path, page in pages.items():
        if path.startswith(("reference", "sources")):
            continue
        for language, code in page.blocks:
            try:
                if language == "python":
                    ast.parse(code)
                elif language == "json":
                    json.loads(code)
                elif language == "toml":
                    tomllib.loads(code)
                elif language in ("c", "cpp"):
                    run = subprocess.run(["cc", "-fpreprocessed", "-E", "-x", "c", "-"], input=code, text=True, capture_output=True, check=False)
                    if run.returncode or "missing terminating" in run.stderr:
                        yield f"{path}: a block of C: {run.stderr.splitlines()[0]}"
                    elif code.count("{") != code.count("}") and "'{'" not in code and "..." not in code:
                        yield f"{path}: a block of C has {code.count('{')} braces that open and {code.count('}')} that close"
            except (SyntaxError, ValueError) as error:
                yield f"{path}: a block of {language}: {error}"


def main():
    root = sys.argv[1]
    paths = [os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names if name.endswith(".html")]
    pages = {path: Page(os.path.join(root, path)) for path in sorted(paths) if path != "404.html"}
    blocks = sum(len(page.blocks) for page in pages.values())
    failed = 0
    for name, findings in (("links", check_links(root, pages)), ("nothing from elsewhere", check_fetched(pages)), ("blocks", check_blocks(pages))):
        findings = list(findings)
        for finding in findings[:40]:
            print("FAIL", finding)
        failed += bool(findings)
        print("FAIL" if findings else "PASS", name)
    if len(pages) < LEAST_PAGES or blocks < LEAST_BLOCKS:
        print(f"FAIL only {len(pages)} pages and {blocks} blocks found: the check sees too little")
        failed += 1
    print(f"{len(pages)} pages, {blocks} blocks of code")
    print(f"{4 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
