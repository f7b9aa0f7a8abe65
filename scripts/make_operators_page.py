# SPDX-License-Identifier: Apache-2.0
"""Writes docs/operators.md, the table of the operators that come with Tenon: make_operators_page.py [--check] TENON.

It comes from `tenon plugin list --json` alone, with the libraries of operators in lib/tenon/operators beside the program's bin. --check writes nothing and fails where the page is another.
"""

import collections
import glob
import json
import os
import re
import subprocess
import sys

PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "operators.md")
OWN = ("builtin", "ml")
HEAD = """# Operators

{count} operators in {entries} versions, made from `tenon plugin list --json` by `scripts/make_operators_page.py`; `tenon plugin show NAME`
tells an operator's fields and ports. A version is the opset in which a meaning began: a model gets the highest one that is
not above what it imports. Every operator has a reference in double precision and runs by it where no kernel fits; kernels of
libraries that are loaded when they are wanted are not listed.
"""
DOMAINS = {"": "ONNX", "Caffe": "Caffe", "ai.onnx.ml": "ONNX, ai.onnx.ml"}
INTROS = {"ai.onnx.ml": "A library of its own, which is loaded when a model needs it: [machine-learning.md](machine-learning.md).\n",
          "Caffe": "What layers of Caffe networks mean and ONNX's operators cannot say; the reader of Caffe networks uses them.\n"}
LEVEL = re.compile(r"_(baseline|avx2|avx512|vnni|avx512_vnni)$")


def libraries(tenon):
    """The options that load the libraries of operators beside the program."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(tenon))), "lib", "tenon", "operators")
    return [word for path in sorted(glob.glob(f"{folder}/*.so")) for word in ("--plugin", path)]


def read_list(tenon):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENON_")}
    text = subprocess.run([tenon, "plugin", "list", "--json", *libraries(tenon)], stdout=subprocess.PIPE, check=True, env=environment).stdout
    return json.loads(text)


def rows_of(found, domain):
    versions, docs, kernels = collections.defaultdict(set), {}, collections.defaultdict(dict)
    for item in found["operators"]:
        if item["library"] in OWN and item["domain"] == domain:
            versions[item["name"]].add(item["version"])
            if item["version"] == max(versions[item["name"]]):
                docs[item["name"]] = item["doc"]
    for item in found["kernels"]:
        if item["library"] in OWN and item["domain"] == domain and item["device"] == "cpu":
            kernels[item["operator"]][LEVEL.sub("", item["name"])] = None
    for name in sorted(versions, key=str.lower):
        numbers = ", ".join(str(number) for number in sorted(versions[name]))
        doc = docs[name].replace("|", "\\|")
        yield f"| {name} | {numbers} | {', '.join(sorted(kernels[name]))} | {doc} |"


def make_page(found):
    built_in = [item for item in found["operators"] if item["library"] in OWN]
    page = HEAD.format(count=len({(item["domain"], item["name"]) for item in built_in}), entries=len(built_in))
    for domain in sorted({item["domain"] for item in built_in}):
        page += f"\n## {DOMAINS.get(domain, domain)}\n\n{INTROS.get(domain, '')}"
        page += "\n" * bool(INTROS.get(domain)) + "| operator | versions | kernels | what it computes |\n|-|-|-|-|\n"
        page += "\n".join(rows_of(found, domain)) + "\n"
    return page


def main():
    words = sys.argv[1:]
    check = words[:1] == ["--check"]
    if len(words) != 1 + check:
        sys.exit(__doc__.splitlines()[0])
    page = make_page(read_list(words[check]))
    if not check:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)
        return 0
    with open(PAGE, encoding="utf-8") as file:
        same = file.read() == page
    print("PASS docs/operators.md is up to date" if same else
          "FAIL docs/operators.md is not what the program has: scripts/make_operators_page.py build/bin/tenon")
    print(f"{int(same)} passed, {int(not same)} failed")
    return not same


if __name__ == "__main__":
    sys.exit(main())
