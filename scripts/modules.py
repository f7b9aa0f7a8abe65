# SPDX-License-Identifier: Apache-2.0
"""The modules, which are the folders of sources, and what their files include: for check-layering and the picture.

An arrow goes from a module to one that its files include from. Files of one name (x.c, x.h, x_private.h) count as one, a unit; a
circle is a set of units that all reach each other by includes."""

import os
import re

TREES = ("src", "importers", "kit", "layers", "conformance", "tools")
# Folders that files are included by their path below, besides the file's own.
ROOTS = ("src", ".", "layers", "conformance", "tools/tenon")
ENDINGS = (".c", ".h", ".cu", ".cuh", ".cpp", ".hpp")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def files(*trees):
    for tree in trees:
        for where, folders, names in os.walk(tree):
            folders.sort()
            yield from (os.path.join(where, name) for name in sorted(names) if name.endswith(ENDINGS))


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def unit(path):
    return re.sub(r"(_private)?\.[a-z]+$", "", path)


class Includes:
    """Which files of the trees include which."""

    def __init__(self, trees=TREES):
        self.paths = list(files(*trees))
        there = set(self.paths)
        self.pairs = []
        for path in self.paths:
            for name in INCLUDE.findall(text(path)):
                found = (os.path.normpath(os.path.join(root, name)) for root in (os.path.dirname(path), *ROOTS))
                self.pairs += [(path, other) for other in [next((one for one in found if one in there), None)] if other]

    def graph(self, of):
        """A dictionary: for each `of(path)` the set of others that it includes from."""
        found = {of(path): set() for path in self.paths}
        for path, other in self.pairs:
            if of(path) != of(other):
                found[of(path)].add(of(other))
        return found


def circles(graph):
    """The sets of nodes that reach each other, sorted; Tarjan, "Depth-first search and linear graph algorithms" (1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(circle for circle in found if len(circle) > 1)


def back_arrows(graph):
    """Arrows between modules of one circle."""
    return [(a, b) for circle in circles(graph) for a in circle for b in sorted(graph[a]) if b in circle]


def larger_than(most, *trees):
    """Modules with more files, and how many those have."""
    counts = {}
    for path in files(*trees):
        counts[os.path.dirname(path)] = counts.get(os.path.dirname(path), 0) + 1
    return sorted((module, count) for module, count in counts.items() if count > most)
