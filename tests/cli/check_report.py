# SPDX-License-Identifier: Apache-2.0
"""Looks at the pages of build --report, inspect --html and bench --profile --html, as a browser's parser reads them.

Usage: check_report.py TENON, where TENON is the program. Needs NumPy and onnx, which write the networks: of a few nodes,
with branches, with 1,000 nodes, and with names that try to be markup.
"""

import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from checks import ProgramChecks

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
LENET = os.path.join(MODELS, "lenet.onnx")
LARGE = 1000
PAGE_BYTES = 2500000     # of a page of 1,000 nodes
PAGE_SECONDS = 20        # that writing it may take, on a busy machine
VOID = {"meta", "br", "input", "link", "img", "hr"}
HOSTILE = ["<script>alert(1)</script>", "</script><b>", "\"'><img src=x onerror=alert(1)>", "two\nlines\t", "&lt;&amp;",
           "]]><!--", "\u202eright to left", "nul\x01control", "<svg onload=alert(1)>", "x" * 20000, "ein Knoten mit Umlauten: äöü",
           "</title><style>*{display:none}</style>"]


class Page(html.parser.HTMLParser):
    """The elements of a page: balanced or not, scripts, tables as lists of rows of texts."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.counts, self.scripts, self.tables = [], [], {}, [], []
        self.attributes, self.text, self.ids = set(), [], set()
        self.boxes, self.corner = [], None
        with open(path, "rb") as file:
            data = file.read()
        self.bytes = len(data)
        self.feed(data.decode("utf-8", errors="strict"))
        self.close()
        self.facts = json.loads(self.scripts[0]) if self.scripts else None

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        for name, value in attributes:
            self.attributes.add(name)
            if name == "id":
                self.ids.add(value)
        if tag == "g" and dict(attributes).get("class", "").startswith("n "):
            self.corner = [int(x) for x in re.findall(r"-?\d+", dict(attributes)["transform"])]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag in ("td", "th", "tr", "table", "script"):
            self.wrong.append(tag)
        if tag == "rect" and self.corner:  # a step of the picture: left, top, right, bottom
            (x, y), size = self.corner, dict(attributes)
            self.boxes.append((x, y, x + int(size["width"]), y + int(size["height"])))
            self.corner = None

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.text.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data
        if "svg" in self.open and "td" in self.open:
            self.tables[-1][-1][-1] += "picture"


class Network:
    """Builds an ONNX model node by node."""

    def __init__(self, seed=0):
        self.random, self.nodes, self.weights, self.names = np.random.RandomState(seed), [], [], None

    def weight(self, name, *shape):
        values = (self.random.standard_normal(shape) * 0.1).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def add(self, op, inputs, **attributes):
        number = len(self.nodes)
        output = self.names(number) if self.names else f"{op.lower()}_{number}"
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"{op}_{number}" if not self.names else output,
                                           **attributes))
        return output

    def conv(self, x, channels, out_channels, size=3):
        number = len(self.nodes)
        return self.add("Conv", [x, self.weight(f"w{number}", out_channels, channels, size, size)], kernel_shape=[size, size],
                        pads=[size // 2] * 4)

    def save(self, path, shape, output, name="network"):
        graph = helper.make_graph(self.nodes, name, [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        with open(path, "wb") as file:
            file.write(model.SerializeToString())


def write_branches(path):
    network = Network()
    x = network.add("Relu", [network.conv("image", 3, 16)])
    for _ in range(6):
        y = network.conv(network.add("Relu", [network.conv(x, 16, 16)]), 16, 16)
        x = network.add("Relu", [network.add("Add", [y, x])])
    parts = [network.conv(x, 16, 8, 1), network.conv(x, 16, 8), network.add("MaxPool", [x], kernel_shape=[3, 3], pads=[1] * 4)]
    x = network.add("Concat", parts, axis=1)
    network.save(path, [1, 3, 24, 24], network.add("GlobalAveragePool", [x]))


def write_dynamic(path):
    network = Network()
    x = network.add("Relu", [network.conv("image", 1, 8, 5)])
    network.save(path, [1, 1, "height", "width"], network.conv(x, 8, 1))


def write_large(path):
    network = Network()
    x, kept = network.conv("image", 3, 8), []
    while len(network.nodes) < LARGE:
        y = network.add("Sigmoid", [network.conv(x, 8, 8, 1)])
        kept.append(y)
        x = network.add("Mul", [network.add("Tanh", [x]), y])
        if len(kept) > 30:
            x = network.add("Add", [x, kept.pop(0)])
    network.save(path, [1, 3, 8, 8], network.add("Tanh", [x]))


def write_hostile(path):
    network = Network()
    network.names = lambda number: HOSTILE[number % len(HOSTILE)] + (f" {number}" if number >= len(HOSTILE) else "")
    x = "image"
    for i in range(len(HOSTILE) + 4):
        x = network.add(("Tanh", "Sigmoid", "Relu")[i % 3], [x])
    network.save(path, [1, 3, 8, 8], x, "</script><script>alert(2)</script>")


class Checks(ProgramChecks):
    def program(self, *arguments):
        return subprocess.run([self.tenon, *arguments], capture_output=True, timeout=300)

    def fails(self, text, code, words, *arguments):
        done = self.program(*arguments)
        message = done.stderr.decode("utf-8", errors="replace").strip()
        self.say(done.returncode == code and all(word in message for word in words),
                 f"{text}: exit {done.returncode}, {message[:160]}")

    def page(self, text, name, *arguments):
        """The page that a call writes, its standard output, and what every page must be."""
        path = self.path(name)
        done = self.program(*arguments, path)
        if not self.say(done.returncode == 0 and os.path.exists(path),
                        f"{text}: exit {done.returncode} {done.stderr.decode(errors='replace').strip()[:160]}"):
            return None, ""
        page = Page(path)
        self.say(not page.wrong and not page.open and len(page.scripts) == 2,
                 f"{text}: elements are balanced ({page.wrong[:4]} {page.open[:4]}, {len(page.scripts)} scripts)")
        self.say(not page.attributes & {"src", "href", "onload", "onerror", "onclick"} and not page.counts.get("img")
                 and not page.counts.get("link"), f"{text}: nothing comes from elsewhere")
        joined = " ".join(page.text)
        self.say(not re.search(r"\b(nan|inf)\b", joined), f"{text}: all numbers are numbers")
        self.check_tables(text, page)
        return page, done.stdout.decode("utf-8", errors="replace")

    def check_tables(self, text, page):
        empty = []
        for table in page.tables:
            head, rows = table[0], table[1:]
            empty += [head[i] for i in range(len(head)) if rows and not any(row[i].strip(" -–") for row in rows)]
            empty += ["uneven"] * any(len(row) != len(head) for row in rows)
        self.say(page.tables and not empty, f"{text}: no column of the {len(page.tables)} tables is empty {empty}")


def check_picture(checks, text, page, report, steps):
    """One box a step, input and output; none on another; what a step reads is above it."""
    boxes, inputs = page.boxes, len(report["inputs"])
    checks.say(len(boxes) == inputs + steps + len(report["outputs"]) and {"net", "scroll", "facts"} <= page.ids,
               f"{text}: a picture of {steps} steps")
    rows = {}
    for box in boxes:
        rows.setdefault(box[1] + box[3], []).append(box)
    overlaps = sum(a[2] > b[0] for row in rows.values() for a, b in zip(sorted(row), sorted(row)[1:]))
    ends = sorted((min(box[1] for box in row), max(box[3] for box in row)) for row in rows.values())
    overlaps += sum(a[1] > b[0] for a, b in zip(ends, ends[1:]))
    checks.say(overlaps == 0, f"{text}: no box lies on another in {len(rows)} levels")
    upwards = 0
    for number, step in enumerate(page.facts["steps"]):
        for value in (page.facts["values"][i] for i in step["inputs"]):
            if value["source"] == "step":
                upwards += boxes[inputs + value["step"]][3] >= boxes[inputs + number][1]
    checks.say(upwards == 0, f"{text}: every edge points downwards")


def check_facts(checks, text, page, report):
    """What the page has as JSON against the report of the same build."""
    steps = sorted(report["nodes"] + report["reformats"], key=lambda step: step["step"])
    facts = page.facts["steps"]
    checks.say([step["step"] for step in steps] == list(range(len(steps))) and len(steps) == len(facts),
               f"{text}: {len(steps)} steps, each with its number")
    same = all(a["ns"] == b["ns"] and (a.get("name", a.get("tensor")) == b["name"] or len(b["name"]) == 200) and
               a.get("op", "conversion") == b["op"] and (a.get("kind") != "kernel" or a["kernel"] == b["kernel"])
               for a, b in zip(steps, facts))
    checks.say(same, f"{text}: names, operators, kernels and times are the report's")
    wrong = 0
    for a, b in zip(steps, facts):
        ports = [value for value in a.get("inputs", []) + a.get("operands", []) if value]
        values = [page.facts["values"][i] for i in b["inputs"]]
        if "op" in a:
            wrong += [(v["type"], v["format"]) for v in ports] != [(v["type"], v["format"]) for v in values]
    checks.say(wrong == 0, f"{text}: each edge's type and format are the report's")
    check_picture(checks, text, page, report, len(steps))


def check_candidates(checks, report):
    listed = [node for node in report["nodes"] if node.get("candidates")]
    good = all(sum(c["chosen"] for c in node["candidates"]) == 1 for node in listed)
    checks.say(listed and good, f"{len(listed)} nodes list their candidates, one of them the chosen one")
    agree = all(c["kernel"] == node["kernel"] and c["absorbs"] == node["absorbed_ops"] and c["tactic"] == node["tactic"] and
                (c["time"] != "measured" or c["ns"] == node["ns"])
                for node in listed for c in node["candidates"] if c["chosen"])
    checks.say(agree, "the chosen candidate is the node's kernel, with its chain and its time")
    checks.say({c["time"] for node in listed for c in node["candidates"]} <= {"measured", "estimated", "pruned"},
               "each candidate says where its time is from")


def check_memory(checks, text, report):
    steps = len(report["nodes"]) + len(report["reformats"])
    for arena in report["memory"]["arenas"]:
        buffers = [b for b in arena["buffers"] if b["bytes"]]
        overlaps = sum(a["first"] <= b["last"] and b["first"] <= a["last"] and a["offset"] < b["offset"] + b["bytes"] and
                       b["offset"] < a["offset"] + a["bytes"] for i, a in enumerate(buffers) for b in buffers[:i])
        inside = all(b["offset"] + b["bytes"] <= arena["bytes"] and b["first"] <= b["last"] <= steps for b in buffers)
        checks.say(buffers and overlaps == 0 and inside,
                   f"{text}: {len(buffers)} buffers in {arena['bytes']} bytes, none on another that lives when it does")


def check_build(checks):
    write_branches(checks.path("branches.onnx"))
    write_dynamic(checks.path("dynamic.onnx"))
    for text, model, options in (("LeNet", LENET, ("-s", "input=1x1x28x28")),
                                 ("dynamic", checks.path("dynamic.onnx"), ("-s", "image=1x1x8x8:1x1x16x16:1x1x32x32")),
                                 ("branches", checks.path("branches.onnx"), ())):
        page, output = checks.page(text, f"{text}.html", "build", model, "-o", checks.path(f"{text}.plan"), "-t", "1",
                                   "--timing-seconds", "1", "--json", *options, "--report")
        if not page:
            continue
        report = json.loads(output)
        check_facts(checks, text, page, report)
        check_candidates(checks, report)
        check_memory(checks, text, report)
    words = " ".join(page.text)
    checks.say(all(word in words for word in ("Time", "Network", "Memory", "Candidates", "Steps", "GlobalAveragePool")),
               "the page has all its parts")
    page, output = checks.page("without timing", "rule.html", "build", checks.path("branches.onnx"), "-o",
                               checks.path("rule.plan"), "--no-timing", "--json", "--report")
    if page:
        report = json.loads(output)
        check_facts(checks, "without timing", page, report)
        times = {c["time"] for node in report["nodes"] for c in node.get("candidates", [])}
        checks.say(times == {"estimated"} and page.facts["total_ns"] == 0, f"without timing all times are estimates: {times}")


def check_small(checks):
    """Networks in which nothing is left to draw, or nothing but a constant."""
    network = Network()
    network.save(checks.path("identity.onnx"), [1, 3], network.add("Identity", ["image"]))
    network = Network()
    network.add("Relu", ["image"])
    network.save(checks.path("constant.onnx"), [1, 3], network.add("Relu", [network.weight("w", 2, 2)]))
    for name in ("identity", "constant"):
        done = checks.program("build", checks.path(f"{name}.onnx"), "-o", checks.path(f"{name}.plan"), "--report",
                              checks.path(f"{name}.html"))
        page = Page(checks.path(f"{name}.html")) if done.returncode == 0 else None
        checks.say(page and not page.wrong and not page.open and page.boxes, f"{name}: a page of a network without steps")


def check_others(checks):
    plan, model = checks.path("branches.plan"), checks.path("branches.onnx")
    page, _ = checks.page("inspect a plan", "plan.html", "inspect", plan, "--html")
    done = checks.program("inspect", plan, "--json")
    steps = json.loads(done.stdout)["programs"][0]["steps"]
    if page:
        # a time that was estimated rather than measured has parts of a nanosecond, which a page leaves out
        checks.say([(round(s["ns"]), s["op"] or "conversion") for s in steps] ==
                   [(s["ns"], s["op"]) for s in page.facts["steps"]],
                   f"inspect: the {len(steps)} steps of the plan")
        words = " ".join(page.text)
        checks.say(all(word in words for word in ("Memory", "Libraries", "Inputs and outputs", "builtin")) and
                   any(value.get("shape") == [1, 16, 24, 24] for value in page.facts["values"]),
                   "inspect: the memory, the libraries, and shapes of edges")
    page, _ = checks.page("inspect a model", "model.html", "inspect", model, "--html")
    page, output = checks.page("bench", "bench.html", "bench", plan, "--seconds", "0.2", "--profile", "--json", "--html")
    if page:
        profile = {entry["node"]: entry["min_ns"] for entry in json.loads(output)["profile"]}
        measured = {step["name"]: step["ns"] for step in page.facts["steps"] if step["ns"]}
        checks.say(len(measured) >= 10 and measured == {name: ns for name, ns in profile.items() if ns},
                   f"bench: the page has the {len(measured)} times that --json has")
        checks.say("Memory" in " ".join(page.text), "bench: the memory of the run")
    page, _ = checks.page("bench at a shape", "shape.html", "bench", checks.path("dynamic.plan"), "-s", "image=1x1x20x24",
                          "--seconds", "0", "--profile", "--html")
    if page:
        shapes = [value.get("shape") for value in page.facts["values"]]
        checks.say(any(shape and shape[-2:] == [20, 24] for shape in shapes), "bench: the edges have the run's shapes")


def check_rewrites(checks):
    """A SiLU of its own, and a GELU of five nodes that the convolution before it absorbs: the page names both rewrites."""
    network, model, plan = Network(), checks.path("rewritten.onnx"), checks.path("rewritten.plan")
    network.weights += [numpy_helper.from_array(np.float32(number), name) for name, number in
                        (("root", np.sqrt(2)), ("one", 1), ("half", 0.5))]
    x = network.add("Mul", ["image", network.add("Sigmoid", ["image"])])
    x = network.conv(x, 3, 4)
    error = network.add("Add", [network.add("Erf", [network.add("Div", [x, "root"])]), "one"])
    network.save(model, [1, 3, 8, 8], network.add("Mul", [network.add("Mul", [x, error]), "half"]))
    wanted = {"silu": 1, "gelu.erf": 1}
    page, output = checks.page("rewrites", "rewrites.html", "build", model, "-o", plan, "--no-timing", "--json", "--report")
    pages = [("a build", page, [step.get("rewrites", []) for step in json.loads(output)["nodes"]] if page else [])]
    page, _ = checks.page("rewrites of a plan", "rewrites_plan.html", "inspect", plan, "--html")
    steps = json.loads(checks.program("inspect", plan, "--json").stdout)["programs"][0]["steps"]
    pages.append(("a plan", page, [step.get("rewrites", []) for step in steps]))
    page, _ = checks.page("rewrites of a run", "rewrites_run.html", "bench", plan, "--seconds", "0", "--profile", "--html")
    pages.append(("a run", page, pages[1][2]))
    for text, page, steps in pages:
        found = sum(steps, [])
        checks.say({name: found.count(name) for name in found} == wanted, f"the report of {text} names rewrites: {found}")
        if page:
            shown = sum((step.get("rewrites", []) for step in page.facts["steps"]), [])
            column = [table[0].index("put in place by rewrite") for table in page.tables if "put in place by rewrite" in table[0]]
            cells = [row[column[0]] for table in page.tables if table[0][1:2] == ["step"] for row in table[1:]] if column else []
            checks.say(sorted(shown) == sorted(wanted) and sorted(filter(None, cells)) == sorted(wanted) and
                       "2 by rewrites" in " ".join(page.text), f"the page of {text} shows them: {shown}, {cells}")
    page, _ = checks.page("no rewrites", "plain.html", "build", model, "-o", plan, "--no-timing", "--no-fusion", "--report")
    if page:
        words = " ".join(page.text) + " ".join(sum(sum(page.tables, []), []))
        checks.say("rewrite" not in words, "a page without rewrites does not speak of them")


def check_large(checks):
    write_large(checks.path("large.onnx"))
    plan = checks.path("large.plan")
    page, output = checks.page(f"{LARGE} nodes", "large.html", "build", checks.path("large.onnx"), "-o", plan, "-t", "1",
                               "--timing-seconds", "1", "--json", "--report")
    if not page:
        return
    check_facts(checks, f"{LARGE} nodes", page, json.loads(output))
    checks.say(page.bytes < PAGE_BYTES, f"{LARGE} nodes: {page.bytes} bytes")
    checks.say("map" in page.ids, f"{LARGE} nodes: an overview beside the picture")
    before = time.monotonic()
    done = checks.program("inspect", plan, "--html", checks.path("large_plan.html"))
    seconds = time.monotonic() - before
    checks.say(done.returncode == 0 and seconds < PAGE_SECONDS, f"{LARGE} nodes: a page in {seconds:.1f} s")


def check_hostile(checks):
    model, plan = checks.path("<b>'\".onnx"), checks.path("hostile.plan")
    write_hostile(model)
    page, output = checks.page("hostile names", "hostile.html", "build", model, "-o", plan, "--no-fusion", "--no-timing",
                               "--json", "--report")
    if page:
        checks.say(page.counts.get("style") == 1 and page.counts.get("title", 0) > 5 and not page.counts.get("img") and
                   page.counts.get("svg", 0) <= 6, "hostile names are no elements")
        text = " ".join(page.text)
        checks.say("<script>alert(1)</script>" in text and "äöü" in text and "\u202e" not in text and "\x01" not in text,
                   "hostile names are there as text")
        checks.say(page.bytes < 400000, f"a long name is shortened: {page.bytes} bytes")
        checks.say(len(page.facts["steps"]) == len(json.loads(output)["nodes"]), "the facts are JSON")
    checks.page("hostile names in a plan", "hostile_plan.html", "inspect", plan, "--html")
    checks.page("hostile names in a run", "hostile_run.html", "bench", plan, "--seconds", "0", "--profile", "--html")
    with open(model, "rb") as file:
        data = file.read()
    with open(checks.path("bytes.onnx"), "wb") as file:
        file.write(data.replace("ein Knoten mit Umlauten: äöü".encode(), b"ein Knoten mit Umlauten: \xff\xfe\xc3\xed\xa0\x80"))
    checks.page("names that are not UTF-8", "bytes.html", "build", checks.path("bytes.onnx"), "-o", plan, "--no-timing",
                "--report")


def check_model(checks):
    """What a model's file says of itself: in JSON, for people, on the page; also texts that would steer a terminal or a browser."""
    model, plan = checks.path("said.onnx"), checks.path("said.plan")
    write_branches(model)
    network = onnx.load(model)
    network.producer_name, network.producer_version, network.domain = "trainer", "2.9", "com.example"
    network.model_version, network.doc_string = 12, "finds\nanimals \x1b[31m"
    entries = {"task": "classify", "</table><script>alert(3)</script>": "\x1b]0;x\x07 & <b>", "long": "w" * 100000}
    for key, value in entries.items():
        network.metadata_props.add(key=key, value=value)
    onnx.save(network, model)
    checks.program("build", model, "--no-timing", "-o", plan)
    said = json.loads(checks.program("inspect", plan, "--json").stdout)["model"]
    checks.say({entry["key"]: entry["value"] for entry in said["metadata"]} == entries, "inspect --json has all of the metadata")
    checks.say([said[key] for key in ("source_format", "producer_name", "producer_version", "domain", "version", "doc")] ==
               ["onnx", "trainer", "2.9", "com.example", 12, network.doc_string], "and what the model says of itself")
    checks.say(said["opsets"] == [{"domain": "", "version": network.opset_import[0].version}], f"and opsets: {said['opsets']}")
    text = checks.program("inspect", plan).stdout.decode()
    checks.say(all(word in text for word in ("trainer", "com.example", "finds animals", "task  ", "classify", "w" * 100 + "...")) and
               "\x1b" not in text and "\x07" not in text and "w" * 200 not in text, "inspect shows it, shortened, without control characters")
    page, _ = checks.page("a model's description", "said.html", "inspect", plan, "--html")
    words = " ".join(page.text)
    checks.say("classify" in words and "trainer" in words and "Model" in words and len(page.scripts) == 2 and page.bytes < 400000,
               "the page has it as text")


def check_use(checks):
    plan, model = checks.path("branches.plan"), checks.path("branches.onnx")
    page = checks.path("kept.html")
    checks.fails("bench --html alone", 2, ["--html", "--profile"], "bench", plan, "--html", page)
    checks.fails("inspect --html --json", 2, ["--html", "--json"], "inspect", plan, "--json", "--html", page)
    checks.fails("inspect --html --dot", 2, ["--html", "--dot"], "inspect", plan, "--dot", checks.path("d"), "--html", page)
    checks.fails("a report of another kind", 2, ["--report", ".html", ".json"], "build", model, "-o", checks.path("p"),
                 "--report", checks.path("report.txt"))
    checks.fails("a folder that is not there", 1, ["nowhere"], "inspect", plan, "--html", checks.path("nowhere", "a.html"))
    os.makedirs(checks.path("folder.html"))
    checks.fails("a folder in its stead", 1, ["folder.html"], "inspect", plan, "--html", checks.path("folder.html"))
    with open(page, "w", encoding="utf-8") as file:
        file.write("kept")
    checks.fails("a plan that is none", 1, [], "inspect", LENET + ".none", "--html", page)
    with open(page, encoding="utf-8") as file:
        checks.say(file.read() == "kept", "after a failure the page that was there is there")
    with open(page, "rb") as before:
        checks.program("inspect", plan, "--html", page)
        checks.say(before.read() == b"kept" and os.path.getsize(page) > 1000, "a page is written beside and renamed")
    left = [name for name in os.listdir(checks.folder) if not name.endswith((".html", ".plan", ".onnx"))]
    checks.say(not left, f"no file is left over {left}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(os.path.abspath(sys.argv[1]), folder)
        check_build(checks)
        check_others(checks)
        check_small(checks)
        check_rewrites(checks)
        check_large(checks)
        check_hostile(checks)
        check_model(checks)
        check_use(checks)
        return checks.end()


if __name__ == "__main__":
    sys.exit(main())
