#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/images/modules.svg, the modules and what each stands on, from the files' includes.

Usage: make_modules_picture.py [--check]; with --check it only tells whether the picture is current. An arrow that others
together already show (a stands on b, b on c) is left out.
"""

import os
import random
import re
import sys

import modules

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PICTURE = "docs/images/modules.svg"
PUBLIC = "include/tenon"
WIDTH, ROW, BOX_WIDTH, BOX_HEIGHT, MARGIN = 860, 64, 158, 38, 12
WHAT = {
    "conformance": "cases, rules, worker, bench", "importers": "onnx, caffe, uff", "include/tenon": "the public interface",
    "kit": "what kernels share", "layers": "operators and kernels", "tools": "the command line", "src/base": "errors, memory, files",
    "src/builder": "from a graph to a plan", "src/calibrate": "ranges of values", "src/tune": "builds that run", "src/compile": "layers from source",
    "src/device": "processor, CUDA", "src/engine": "a loaded plan", "src/graph": "nodes, shapes, types",
    "src/guard": "calls in guarded memory", "src/helper": "a helper process", "src/isolation": "kernels in a process", "src/plan": "the file",
    "src/import": "reading models", "src/memory": "offsets in arenas", "src/operation": "one operator", "src/plugin": "registry, fields, libraries", "src/program": "steps and storages",
    "src/report": "steps as JSON", "src/run": "a context", "src/run_only": "refuses to build", "src/tensor": "types and formats",
}
SWEEPS = 9
BEGINNINGS = 400
PASSING = 0.25  # of a box's width, for an arrow that passes a row
PUBLIC_INCLUDE = re.compile(r"^\s*#\s*include\s*<tenon/", re.M)
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="14">
  <!-- Made by scripts/make_modules_picture.py. -->
  <style>
    .core {{ fill: #f4f7fb; stroke: #35506b; stroke-width: 1.5; }}
    .around {{ fill: #fff4df; stroke: #b9770e; stroke-width: 1.5; }}
    .arrow {{ stroke: #35506b; stroke-width: 1.2; fill: none; marker-end: url(#head); }}
    .small {{ font-size: 11px; fill: #444; }}
    text {{ fill: #1c2833; text-anchor: middle; }}
  </style>
  <defs>
    <marker id="head" markerWidth="9" markerHeight="7" refX="8" refY="3.5" orient="auto"><path d="M0,0 L9,3.5 L0,7 z" fill="#35506b"/></marker>
  </defs>
  <rect width="{width}" height="{height}" fill="#fff"/>
"""


def module(path):
    parts = path.split("/")
    if path.startswith("src/expression/"): # layers' libraries link it, too, and it stands on the kit's arithmetic
        return "kit"
    return "/".join(parts[:2]) if parts[0] == "src" else parts[0]


def arrows():
    """What each module stands on."""
    found = modules.Includes()
    graph = found.graph(module)
    graph[PUBLIC] = set()
    for path in found.paths:
        if PUBLIC_INCLUDE.search(modules.text(path)):
            graph[module(path)].add(PUBLIC)
    return graph


def reachable(graph, node):
    seen, todo = set(), [node]
    while todo:
        for other in graph[todo.pop()] - seen:
            seen.add(other)
            todo.append(other)
    return seen


def reduced(graph):
    """Without the arrows that follow from others."""
    return {node: {other for other in others if not any(other in reachable(graph, between) for between in others - {other})}
            for node, others in graph.items()}


def depths(graph):
    """The length of the longest path down from each."""
    found = {}

    def depth(node):
        if node not in found:
            found[node] = 1 + max((depth(other) for other in graph[node]), default=-1)
        return found[node]

    for node in graph:
        depth(node)
    return found


def chains(graph, depth):
    """Each arrow as the slots that it goes through, one a row: names, and (from, to, row) in between."""
    for node in sorted(graph):
        for other in sorted(graph[node]):
            yield [node, *((node, other, row) for row in range(depth[node] - 1, depth[other], -1)), other]


def ordered(rows, links):
    """The rows with few crossings: each slot near the mean of those that it is linked with."""
    for sweep in range(SWEEPS):
        for row in range(len(rows)) if sweep % 2 == 0 else reversed(range(len(rows))):
            position = {slot: (i + 0.5) / len(other) for other in rows for i, slot in enumerate(other)}
            mean = {slot: sum(sorted(position[other] for other in links[slot])) / len(links[slot]) if links[slot] else position[slot]
                    for slot in rows[row]}
            rows[row].sort(key=lambda slot: (round(mean[slot], 6), str(slot)))
    return rows


def positions(rows):
    """The centre of each slot."""
    found = {}
    for number, row in enumerate(rows):
        widths = [PASSING if isinstance(slot, tuple) else 1 for slot in row]
        for i, slot in enumerate(row):
            x = (sum(widths[:i]) + widths[i] / 2) / sum(widths)
            found[slot] = (round(x * WIDTH), MARGIN + (len(rows) - 1 - number) * ROW + BOX_HEIGHT // 2)
    return found


def layout(graph):
    """The centre of each slot, the arrows' slots and the number of rows: of many beginnings, the one with the shortest
    arrows."""
    depth = depths(graph)
    paths = list(chains(graph, depth))
    slots = [*sorted(graph), *(slot for path in paths for slot in path[1:-1])]
    links = {slot: set() for slot in slots}
    for path in paths:
        for a, b in zip(path, path[1:]):
            links[a].add(b)
            links[b].add(a)
    chance = random.Random(1)
    best = None
    for _ in range(BEGINNINGS):
        chance.shuffle(slots)
        rows = [[] for _ in range(max(depth.values()) + 1)]
        for slot in slots:
            rows[slot[2] if isinstance(slot, tuple) else depth[slot]].append(slot)
        centres = positions(ordered(rows, links))
        cost = sum((centres[a][0] - centres[b][0]) ** 2 for a in links for b in links[a])
        if best is None or cost < best[0]:
            best = (cost, centres, paths, len(rows))
    return best[1:]


def draw(graph):
    centres, paths, height = layout(reduced(graph))
    lines = [HEAD.format(width=WIDTH, height=2 * MARGIN + (height - 1) * ROW + BOX_HEIGHT)]
    for path in paths:
        points = [centres[slot] for slot in path]
        points[0] = (points[0][0], points[0][1] + BOX_HEIGHT // 2)
        points[-1] = (points[-1][0], points[-1][1] - BOX_HEIGHT // 2)
        lines.append('  <path class="arrow" d="M%s"/>\n' % " L".join(f"{x},{y}" for x, y in points))
    for name in sorted(graph):
        x, y = centres[name]
        kind = "core" if name.startswith("src/") else "around"
        lines.append(f'  <rect class="{kind}" x="{x - BOX_WIDTH // 2}" y="{y - BOX_HEIGHT // 2}" width="{BOX_WIDTH}" '
                     f'height="{BOX_HEIGHT}" rx="6"/><text x="{x}" y="{y - 2}">{name}</text>'
                     f'<text class="small" x="{x}" y="{y + 13}">{WHAT[name]}</text>\n')
    return "".join([*lines, "</svg>\n"])


def main():
    os.chdir(ROOT)
    picture = draw(arrows())
    if sys.argv[1:] != ["--check"]:
        with open(PICTURE, "w", encoding="utf-8") as file:
            file.write(picture)
        return 0
    is_current = os.path.exists(PICTURE) and modules.text(PICTURE) == picture
    print("PASS" if is_current else f"FAIL {PICTURE} is not of these includes: scripts/make_modules_picture.py draws it")
    print(f"{int(is_current)} passed, {int(not is_current)} failed")
    return 0 if is_current else 1


if __name__ == "__main__":
    sys.exit(main())
