# SPDX-License-Identifier: Apache-2.0
"""Pages of the interfaces, from what the sources say: comments of public headers, docstrings and stubs of the Python package."""

import ast
import inspect
import os
import re

NAMES = (r"\btypedef\s+(?:struct|enum|union)\s+\w*\s*\{.*\}\s*(\w+)\s*;", r"^typedef [^;{]*\(\*\s*(\w+)\)", r"^typedef [^;{]*?(\w+)\s*;",
         r"^#\s*define\s+(\w+)", r"\b(\w+)\s*\([^;{]*\)\s*[;{]", r"^(?:struct|class|enum(?: class)?)\s+(\w+)", r"\benum\s*\{\s*(\w+)")
SKIPPED = re.compile(r"#\s*(?:if|endif|include|else|elif|undef|pragma)")
FOR_CPP = re.compile(r'^#ifdef __cplusplus\n(?:extern "C" \{|\})\n#endif\n', re.M)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LICENCE = re.compile(r"/\* SPDX[^\n]*\*/\n")


def comment_text(comment):
    """A comment's text without its marks; indented blocks stay."""
    lines = comment.strip()[2:-2].split("\n") if comment.startswith("/*") else comment.split("\n")
    return "\n".join(re.sub(r"^\s*(?:\*|//) ?", "", line) if i or comment.startswith("//") else line.strip()
                     for i, line in enumerate(lines)).strip("\n")


def escaped(text):
    """Prose of comments as Markdown: C's names are no emphasis, and <name> is no tag."""
    out = []
    for line in text.split("\n"):
        out.append(line if line.startswith("    ") else re.sub(r"([*_<\[\]])", r"\\\1", line))
    return "\n".join(out)


def blocks(text):
    """(comment or "", code) of what stands at the left margin: a comment belongs to what follows it without an empty line."""
    comment, code, inside = [], [], None
    for line in text.split("\n") + [""]:
        if inside is not None or (not code and line.startswith(("/*", "//"))):
            comment.append(line)
            inside = None if "*/" in line or line.startswith("//") else comment
            continue
        is_open = code and ("\n".join(code).count("{") > "\n".join(code).count("}") or code[-1].endswith("\\"))
        if line.strip() or is_open:
            code.append(line)
            continue
        if comment or code:
            yield "\n".join(comment), "\n".join(code)
        comment, code = [], []


def split(code):
    """Declarations that stand below each other, each with the comment before it: [(comment, code)]."""
    parts, comment, current, depth, in_comment = [], [], [], 0, False
    for line in code.split("\n"):
        if not current and (in_comment or re.match(r"/\*", line)):
            comment.append(line)
            in_comment = "*/" not in line
            continue
        if not current and not line.strip():
            if comment:
                parts.append(("\n".join(comment), ""))
                comment = []
            continue
        current.append(line)
        bare = re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"])*\"", "", line)
        depth += bare.count("{") + bare.count("(") - bare.count("}") - bare.count(")")
        text = "\n".join(current).rstrip()
        is_macro = current[0].startswith("#") and not line.endswith("\\")
        if depth <= 0 and (is_macro or not current[0].startswith("#") and re.search(r"[;}](?:\s*/\*.*\*/)?$", text) and _is_closed(text)):
            parts.append(("\n".join(comment), text))
            comment, current, depth = [], [], 0
    if current or comment:
        parts.append(("\n".join(comment), "\n".join(current)))
    return parts


def _is_closed(text):
    return text.rfind("/*") <= text.rfind("*/")


def name_of(code):
    bare = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    for pattern in NAMES:
        found = re.search(pattern, bare, re.S | re.M)
        if found:
            return found[1]
    return None


def header_page(path, title):
    """The page of a header: its first comment, then a heading for each declaration."""
    with open(path, encoding="utf-8") as file:
        text = FOR_CPP.sub("\n", LICENCE.sub("", file.read()))
    parts, names, is_first = [f"# {title}\n"], [], True
    for comment, code in blocks(text):
        code = "\n".join(line for line in code.split("\n") if not SKIPPED.match(line))
        if is_first and comment:
            parts.append(escaped(comment_text(comment)) + "\n")
            is_first, comment = False, ""
        if re.fullmatch(r"#\s*define TENON_\w+_(?:H|HPP)", code.strip()):
            code = ""
        for own, declaration in split(code) if code.strip() else [("", "")]:
            words = [escaped(comment_text(each)) for each in (comment, own) if each]
            comment, name = "", name_of(declaration)
            if name and name not in names:
                names.append(name)
                parts.append(f"## `{name}` {{#{name}}}\n")
            parts += [each + "\n" for each in words]
            if declaration.strip():
                parts.append(f"```{'cpp' if path.endswith('.hpp') else 'c'}\n{declaration.rstrip()}\n```\n")
    return "\n".join(parts), names


def python_page(module, stub):
    """Of a module: each public name with its signature from the stub, and its docstring."""
    tree = ast.parse(stub)
    parts = [f"# `{module.__name__}`\n", _doc(inspect.getdoc(module))]
    tops = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        parts += _entry(name, tops.get(name), inspect.getdoc(value), lambda member, value=value: inspect.getdoc(getattr(value, member, None)))
    return "\n".join(parts)


def source_page(package, name):
    """The same of a module without a stub, from its sources: it need not be imported. package: the folder tenon/."""
    path = os.path.join(package, name)
    path = os.path.join(path, "__init__.py") if os.path.isdir(path) else path + ".py"
    tree = _parsed(path)
    listed = next((ast.literal_eval(node.value) for node in tree.body
                   if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"), None)
    tops = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, *FUNCTIONS))}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and (node.level or node.module.startswith(f"tenon.{name}.")):
            there = {getattr(each, "name", None) or each.targets[0].id: each
                     for each in _parsed(os.path.join(os.path.dirname(path), node.module.split(".")[-1] + ".py")).body
                     if isinstance(each, (ast.ClassDef, *FUNCTIONS)) or isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)}
            tops.update({each.asname or each.name: there[each.name] for each in node.names if each.name in there})
    if listed is None:
        listed = [each for each in tops if not each.startswith("_")]
    missing = [each for each in listed if each not in tops]
    if missing or not listed:
        raise SystemExit(f"site: tenon.{name}: {', '.join(missing) or 'public names'} not found in its sources")
    parts = [f"# `tenon.{name}`\n", _doc(ast.get_docstring(tree))]
    for each in sorted(listed, key=str.lower):
        if isinstance(tops[each], ast.Assign):
            parts += [f"## `{each}` {{#{each}}}\n", f"```python\n{ast.unparse(tops[each])}\n```\n"]
            continue
        members = {node.name: node for node in tops[each].body if isinstance(node, FUNCTIONS)}
        parts += _entry(each, tops[each], ast.get_docstring(tops[each]),
                        lambda member, members=members: ast.get_docstring(members[member]))
    return "\n".join(parts)


def _parsed(path):
    with open(path, encoding="utf-8") as file:
        return ast.parse(file.read())


def _entry(name, node, text, text_of):
    """The lines of a function, or of a class with its methods; text_of answers a method's docstring."""
    parts = [f"## `{name}` {{#{name}}}\n"]
    if isinstance(node, FUNCTIONS):
        return [*parts, _signature(node), _doc(text)]
    parts.append(_doc(text))
    for member in node.body if node else []:
        if isinstance(member, FUNCTIONS) and (not member.name.startswith("_") or member.name in ("__init__", "__call__")):
            parts += [f"### `{name}.{member.name}` {{#{name}.{member.name.strip('_')}}}\n", _signature(member), _doc(text_of(member.name))]
    return parts


def _signature(node):
    kind = ast.AsyncFunctionDef if isinstance(node, ast.AsyncFunctionDef) else ast.FunctionDef
    signature = ast.unparse(kind(node.name, node.args, [ast.Expr(ast.Constant(...))], [], node.returns, lineno=0))
    return f"```python\n{signature.replace(chr(10) + '    ...', '').rstrip(':')}\n```\n"


def _doc(text):
    """A docstring as Markdown: paragraphs, a list of what begins with a name and a colon, blocks that are indented."""
    text = re.sub(r"^\w+\(.*?\)\n--\n+", "", text or "", flags=re.S)
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")) if text else []:
        lines = paragraph.split("\n")
        if all(line.startswith("    ") for line in lines):
            parts.append(paragraph)
            continue
        joined = []
        for line in lines:
            named = re.match(r"(\w+(?:, \w+)*):(?: |$)", line)
            if named and (len(lines) > 1 or joined):
                joined.append(f"- `{named[1]}`:{escaped(line[named.end(1) + 1:])}")
            elif joined:
                joined[-1] += " " + escaped(line.strip())
            else:
                joined.append(escaped(line.strip()))
        at = next((i for i, line in enumerate(joined) if line.startswith("- `")), len(joined))
        parts.append("\n".join(joined[:at]) + "\n" * (2 if 0 < at < len(joined) else 0) + "\n".join(joined[at:]))
    return "\n\n".join(parts) + "\n"


def headers(root):
    """(path below include/, title) of all public headers."""
    base = os.path.join(root, "include")
    for folder, folders, names in os.walk(base):
        folders.sort()
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), base)
            yield path, f"{path}"
