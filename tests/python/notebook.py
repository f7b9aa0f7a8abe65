# SPDX-License-Identifier: Apache-2.0
"""Runs a notebook's cells in order, as its kernel would: what a cell's last expression is, is shown by `_repr_html_` or `repr`.

As a program it writes a page with the cells and what they show, which a browser displays: notebook.py FILE.ipynb PAGE.html
"""

import ast
import contextlib
import html
import io
import json
import os
import sys


class Cell:
    """A cell with what it printed, the value that it ends with, and that value's HTML (None: it has none)."""

    def __init__(self, kind, text):
        self.kind, self.text = kind, text
        self.printed, self.value, self.html = "", None, None

    def run(self, names, where):
        tree = ast.parse(self.text, where)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(tree, where, "exec"), names)
            if last is not None:
                self.value = eval(compile(ast.Expression(last.value), where, "eval"), names)
        self.printed = printed.getvalue()
        self.html = self.value._repr_html_() if hasattr(self.value, "_repr_html_") else None


def read(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if document["nbformat"] != 4:
        raise ValueError(f"{path}: format {document['nbformat']}, 4 is expected")
    return [Cell(cell["cell_type"], "".join(cell["source"])) for cell in document["cells"]]


def run(path):
    """The notebook's cells, run in its folder. An error is that of the cell's code, with the cell's number as the file."""
    cells, names, folder = read(path), {"__name__": "__main__"}, os.getcwd()
    os.chdir(os.path.dirname(os.path.abspath(path)))
    try:
        for number, cell in enumerate(cells):
            if cell.kind == "code":
                cell.run(names, f"<cell {number} of {os.path.basename(path)}>")
    finally:
        os.chdir(folder)
    return cells


def page(cells):
    parts = ["<!DOCTYPE html><meta charset='utf-8'><body style='font-family: sans-serif; max-width: 1100px'>"]
    for cell in cells:
        parts.append(f"<pre style='background: #f4f4f4; padding: 8px; white-space: pre-wrap'>{html.escape(cell.text)}</pre>")
        if cell.printed:
            parts.append(f"<pre>{html.escape(cell.printed)}</pre>")
        if cell.value is not None:
            parts.append(cell.html or f"<pre>{html.escape(repr(cell.value))}</pre>")
    return "\n".join(parts)


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(page(run(sys.argv[1])))
