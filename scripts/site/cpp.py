# SPDX-License-Identifier: Apache-2.0
"""Pages of the C++ headers: each class with its public members, without bodies, and below each the functions of C that it calls, where
shapes, units, errors and threads are described."""

import os
import re

from reference import LICENCE, comment_text, escaped

INTERNAL = re.compile(r"^namespace detail \{\n(?:[^{}]*\}\n|.*?^\} // namespace detail\n)", re.M | re.S)
TEMPLATE = re.compile(r"^template <(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>\s*")
CLASS = re.compile(r"^(?:template <[^>]*>\s*)?(?:class|struct) (\w+)[^;{]*\{", re.S)
SKIPPED = re.compile(r"\s*(?:#|namespace |\} // namespace|using (\w+)::\1;|(?:class|struct) \w+;)")


def bare(line):
    """Without comments and texts, whose braces do not count."""
    return re.sub(r"/\*.*?\*/|//.*|\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])'", "", line)


def depth_of(text):
    return sum(text.count(opening) - text.count(closing) for opening, closing in ("{}", "()"))


def declaration(code):
    """What stands before a function's body and a constructor's initialisers."""
    depth, before = 0, ""
    for at, letter in enumerate(code):
        depth += (letter in "(<[") - (letter in ")>]" and before != "-")
        if letter == "{" and depth <= 0 and not re.search(r"=\s*$", code[:at]) and ("(" in code[:at] or CLASS.match(code[:at + 1])):
            code = code[:at]
            break
        before = letter
    return re.sub(r"\)(\s*noexcept)?\s*:\s[^:].*$", r")\1", code.rstrip(), flags=re.S).rstrip() + ("" if code.rstrip().endswith(";") else ";")


def name_of(code):
    text = TEMPLATE.sub("", bare(code.replace("\n", " ")).strip())
    for pattern in (r"^(?:using|class|struct|enum class|enum) (\w+)", r"(operator\s*\S+?|~?\w+)\s*\(", r"(\w+)\s*(?:=|\{|;)"):
        found = re.search(pattern, text)
        if found:
            return found[1]
    return None


def parts_of(lines):
    """(comment, code) of declarations that stand beside each other."""
    comment, code, depth, in_comment = [], [], 0, False
    for line in lines:
        if not code and (in_comment or re.match(r"\s*(?:/\*|//)", line)):
            comment.append(line.strip())
            in_comment = "/*" in line and "*/" not in line or in_comment and "*/" not in line
            continue
        if not line.strip() and not code:
            comment = []
            continue
        code.append(line)
        depth += depth_of(bare(line))
        text = "\n".join(bare(each) for each in code).rstrip()
        if depth == 0 and text.endswith((";", "}")):
            yield "\n".join(comment), "\n".join(code)
            comment, code = [], []


def dedented(code):
    least = min((len(line) - len(line.lstrip()) for line in code.split("\n") if line.strip()), default=0)
    return "\n".join(line[least:] for line in code.split("\n"))


class Page:
    """of: the class, or what the file has outside of one."""

    def __init__(self, path, functions):
        self.path, self.functions, self.lines, self.names = path, functions, [], set()

    def entry(self, comment, code, of=None):
        name = name_of(code)
        if not name or f"detail::{name}(" in code.partition("{")[0]:
            return
        title = f"{of}::{name}" if of else name
        if title not in self.names:
            self.names.add(title)
            self.lines.append(f"{'###' if of else '##'} `{title}` {{#{title.replace('::', '.').replace(' ', '')}}}\n")
        if comment:
            self.lines.append(escaped(comment_text(comment)) + "\n")
        self.lines.append(f"```cpp\n{dedented(declaration(code))}\n```\n")
        called = dict.fromkeys(each for each in re.findall(r"\btn_\w+", code) if each in self.functions)
        links = [f"[`{each}`]({os.path.relpath(self.functions[each], os.path.dirname(self.path))}#{each})" for each in called]
        if links:
            self.lines.append(f"By {', '.join(links)}.\n")

    def declare(self, comment, code):
        found = CLASS.match(code)
        self.entry(comment, found[0] if found else code)
        if not found or code.rstrip().endswith("{};"):
            return
        is_public, inside = re.search(r"\bstruct \w+", found[0]) is not None, []
        for line in code[found.end():].rsplit("}", 1)[0].split("\n"):
            label = re.match(r"\s*(public|private|protected):", line)
            if label:
                is_public = label[1] == "public"
            elif is_public and not SKIPPED.match(line):
                inside.append(line)
        for own, member in parts_of(inside):
            self.entry(own, member, found[1])


def page(path, site_path, title, functions):
    """functions: the page of each function and type of C by its name."""
    with open(path, encoding="utf-8") as file:
        text = INTERNAL.sub("", LICENCE.sub("", file.read()))
    made = Page(site_path, functions)
    head = re.match(r"/\*.*?\*/\n", text, re.S)
    made.lines = [f"# {title}\n", escaped(comment_text(head[0].rstrip())) + "\n"]
    for comment, code in parts_of([line for line in text[head.end():].split("\n") if not SKIPPED.match(line)]):
        made.declare(comment, code)
    return "\n".join(made.lines)
