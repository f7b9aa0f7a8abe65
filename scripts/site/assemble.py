# SPDX-License-Identifier: Apache-2.0
"""The pages of the site as files of Markdown in one folder, laid out as in the repository so that links hold, and the settings with the
order of pages. Usage: assemble.py FOLDER (scripts/make-site calls it)
"""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import cpp  # noqa: E402
import reference  # noqa: E402

sys.path.insert(1, os.path.join(ROOT, "scripts"))

import make_operators_page as operators_page  # noqa: E402

LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)
LANGUAGES = {".c": "c", ".h": "c", ".hpp": "cpp", ".cpp": "cpp", ".cu": "cpp", ".py": "python", ".json": "json", ".proto": "protobuf"}
# Every document of docs/ is in one of these, which are the tabs.
TABS = {
    "First steps": ["install", "first-layer", "python", "python-layers", "tensorrt-step-by-step", "pytorch-to-service", "run-from-c", "which-engine"],
    "How to": ["command-line", "serving", "dynamic-shapes", "quantization", "cuda", "scaling", "embedding", "control-flow", "machine-learning", "python-onnxruntime",
               "python-debug", "reports", "guarded-running", "when-loading-fails", "networks"],
    "Models": ["plans", "from-tensorrt", "uff", "caffe", "importers", "contributed-operators"],
    "Layers": ["conformance", "kernel-kit", "expressions", "compile-from-source", "bodies", "sequences", "strings", "rewrites"],
    "Project": ["architecture", "abi", "threat-model"],
}
WITHOUT_STUBS = ("torch", "onnxruntime", "serve", "ray", "mmdeploy", "backend")  # of the Python package's modules
TOP = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "examples/README.md", "models/README.md")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Site:
    def __init__(self, folder):
        self.folder, self.made = folder, set()

    def write(self, path, text):
        target = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
        self.made.add(path)

    def copy(self, path):
        target = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(ROOT, path), target)
        self.made.add(path)

    def page(self, path):
        """A document and those that it links to; its links to sources and folders lead to pages that show those."""
        if path in self.made:
            return
        self.made.add(path)
        parts = FENCE.split(read(path))
        self.write(path, "".join(part if i % 2 else self._text(path, part) for i, part in enumerate(parts)))

    def _text(self, path, text):
        text = re.sub(r"^((?![ \t]*(?:[-*]|\d+\.) |[ \t]*$|[|#>]|    ).*\n)(?=(?:[-*]|\d+\.) )", r"\1\n", text, flags=re.M)
        return LINK.sub(lambda match: f"{match[1]}({self._target(path, match[2])})", text)

    def _target(self, path, link):
        if re.match(r"[a-z]+:|#", link):
            return link
        target, hash_, anchor = link.partition("#")
        there = os.path.normpath(os.path.join(os.path.dirname(path), target))
        if not os.path.exists(os.path.join(ROOT, there)):
            return link
        if there.endswith(".md"):
            self.page(there)
            return link
        if there.endswith((".png", ".svg")):
            self.copy(there)
            return link
        return os.path.relpath(self._source(there), os.path.dirname(path) or ".") + hash_ + anchor

    def _source(self, path):
        """The page of a source or of a folder."""
        full = os.path.join(ROOT, path)
        if os.path.isdir(full) and os.path.exists(os.path.join(full, "README.md")) and f"{path}/README.md" in TOP:
            return f"{path}/README.md"
        page = f"sources/{path}.md"
        if page in self.made:
            return page
        self.made.add(page)
        if not os.path.isdir(full):
            language = LANGUAGES.get(os.path.splitext(path)[1], "text")
            self.write(page, f"# {path}\n\n````{language}\n{read(path)}\n````\n")
            return page
        tracked = subprocess.run(["git", "ls-files", "--", path], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        rows = []
        for name in tracked:
            label = os.path.relpath(name, path)
            if name.endswith((".c", ".h", ".cpp", ".hpp", ".cu", ".py", ".txt", ".importers")) and os.path.getsize(os.path.join(ROOT, name)) < 200_000:
                rows.append(f"- [{label}]({os.path.relpath(self._source(name), os.path.dirname(page))})")
            elif name.startswith("docs/decisions/"):
                rows.append(f"- [{label}]({os.path.relpath(name, os.path.dirname(page))})")
            else:
                rows.append(f"- {label}")
        self.write(page, f"# {path}\n\n" + "\n".join(rows) + "\n")
        return page


def title_of(path):
    found = re.search(r"^# (.+)$", read(path), re.M)
    return found[1].replace("`", "") if found else path


def documents(folder):
    return sorted(name[:-3] for name in os.listdir(os.path.join(ROOT, folder)) if name.endswith(".md"))


def check_tabs():
    listed = [name for names in TABS.values() for name in names] + ["operators"]
    there = documents("docs")
    wrong = [f"docs/{name}.md is in no tab" for name in there if listed.count(name) == 0]
    wrong += [f"docs/{name}.md is in two tabs" for name in there if listed.count(name) > 1]
    wrong += [f"docs/{name}.md is not there" for name in listed if name not in there]
    if wrong:
        raise SystemExit("\n".join(f"site: TABS in scripts/site/assemble.py: {each}" for each in wrong))


def references(site):
    """The generated pages; their part of the navigation."""
    groups = {"C": [], "Plugins": [], "Kernel kit": [], "C++": []}
    of_c, headers = {}, list(reference.headers(ROOT))
    for path, title in headers:
        page = f"reference/{path}.md"
        if not path.endswith(".hpp"):
            text, names = reference.header_page(os.path.join(ROOT, "include", path), title)
            of_c.update({name: page for name in names})
            site.write(page, text)
        group = "C++" if path.endswith(".hpp") else "Kernel kit" if "/kit/" in path else \
            "Plugins" if "/plugin/" in path or path.endswith(("plugin.h", "layer.h")) else "C"
        groups[group].append({title.removeprefix("tenon/"): page})
    missing = [f"include/{path}: {name}" for path, _ in headers if not path.endswith(".hpp")
               for name in re.findall(r"TN_EXPORT\s[^;{(]*?\b(tn_\w+)(?=\()", read(f"include/{path}")) if name not in of_c]
    if missing:
        raise SystemExit("site: no heading for " + ", ".join(missing))
    for path, title in headers:
        if path.endswith(".hpp"):
            site.write(f"reference/{path}.md", cpp.page(os.path.join(ROOT, "include", path), f"reference/{path}.md", title, of_c))
    return [{"All operators": "docs/operators.md"}, *({name: pages} for name, pages in groups.items()), {"Python": python_references(site)}]


def operators(site):
    """A page for each operator, with ports, fields, kernels and cases, as the program shows them; the table of all links to them."""
    tenon = os.path.join(ROOT, "build", "bin", "tenon")
    libraries = operators_page.libraries(tenon)
    pages = {}
    for item in operators_page.read_list(tenon)["operators"]:
        domain, name = item["domain"], item["name"]
        if item["library"] not in operators_page.OWN or (domain, name) in pages:
            continue
        full = f"{domain}::{name}" if domain else name
        text = subprocess.run([tenon, "plugin", "show", full, "--markdown", *libraries], check=True, stdout=subprocess.PIPE, text=True).stdout
        pages[domain, name] = f"reference/operators/{domain + '.' if domain else ''}{name}.md"
        site.write(pages[domain, name], f"# {full}\n\n{text}")
    domains, domain, lines = {title: name for name, title in operators_page.DOMAINS.items()}, "", []
    with open(os.path.join(site.folder, "docs/operators.md"), encoding="utf-8") as file:
        for line in file.read().split("\n"):
            heading, row = re.match(r"## (.+)", line), re.match(r"\| (\w+) \|", line)
            domain = domains.get(heading[1], heading[1]) if heading else domain
            if row and (domain, row[1]) in pages:
                line = f"| [{row[1]}](../{pages.pop((domain, row[1]))}) |" + line[row.end():]
            lines.append(line)
    if pages:
        raise SystemExit(f"site: docs/operators.md has no row for {', '.join('::'.join(each) for each in pages)}")
    site.write("docs/operators.md", "\n".join(lines))


def python_references(site):
    import tenon
    import tenon.debug
    package, pages = os.path.dirname(tenon.__file__), []
    for module in (tenon, tenon.debug):
        with open(os.path.join(os.path.dirname(module.__file__), "__init__.pyi"), encoding="utf-8") as file:
            site.write(f"reference/{module.__name__}.md", reference.python_page(module, file.read()))
        pages.append({module.__name__: f"reference/{module.__name__}.md"})
    for name in WITHOUT_STUBS:
        site.write(f"reference/tenon.{name}.md", reference.source_page(package, name))
        pages.append({f"tenon.{name}": f"reference/tenon.{name}.md"})
    return pages


def yaml(value, depth=0):
    """Lists and dicts of one key as YAML."""
    lines = []
    for item in value:
        (name, below), = item.items()
        if isinstance(below, str):
            lines.append(f"{'  ' * depth}- {name!r}: {below}")
        else:
            lines += [f"{'  ' * depth}- {name!r}:", yaml(below, depth + 2)]
    return "\n".join(lines)


def main():
    folder = os.path.abspath(sys.argv[1])
    check_tabs()
    shutil.rmtree(folder, ignore_errors=True)
    site = Site(os.path.join(folder, "pages"))
    results = [f"bench/results/{name}.md" for name in documents("bench/results")]
    decisions = [f"docs/decisions/{name}.md" for name in documents("docs/decisions")]
    for path in (*TOP, *results, *decisions, *(f"docs/{name}.md" for name in documents("docs"))):
        site.page(path)
    operators(site)
    for name in ("site.css", "iframe-worker.js"):
        shutil.copy(os.path.join(HERE, name), site.folder)
    nav = [{"Tenon": "README.md"}]
    nav += [{tab: [{title_of(f"docs/{name}.md"): f"docs/{name}.md"} for name in names]} for tab, names in TABS.items() if tab != "Project"]
    nav.append({"Reference": references(site)})
    nav.append({"Examples": [{"All examples": "examples/README.md"}, {"Models of our own": "models/README.md"}]})
    nav.append({"Decisions": [{title_of(path): path} for path in decisions]})
    nav.append({"Project": [{title_of(f"docs/{name}.md"): f"docs/{name}.md"} for name in TABS["Project"]] +
                [{title_of(path): path} for path in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")] +
                [{"Measurements": [{title_of(path): path} for path in results]}]})
    with open(os.path.join(folder, "mkdocs.yml"), "w", encoding="utf-8") as file:
        with open(os.path.join(HERE, "mkdocs.yml"), encoding="utf-8") as settings:
            file.write(settings.read())
        file.write(f"docs_dir: {site.folder}\nsite_dir: {os.path.join(folder, 'html')}\nnav:\n{yaml(nav, 1)}\n")
    print(f"{len(site.made)} files of {len(nav)} tabs")


if __name__ == "__main__":
    main()
