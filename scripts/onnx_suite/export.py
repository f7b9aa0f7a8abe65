# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of ONNX's backend tests in ONNX's own layout: export.py OUTDIR [--tier 1|2|3|all|ml|values|none].

--tier none writes nothing, and prints the cases of no tier, each with its reason.

The `onnx` package makes the cases of its node tests in memory and ships the others (simple, pytorch-converted,
pytorch-operator, and light networks with weights made of constants). Each is written to OUTDIR/KIND/NAME/ as
model.onnx and test_data_set_N/{input,output}_M.pb, with data.json where tolerances differ from the usual. What
OUTDIR holds already, written by this version of the package and of these scripts, is kept.
"""

import argparse
import collections
import glob
import hashlib
import json
import os
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

import tiers

RTOL, ATOL = 1e-3, 1e-7


def stamp(chosen):
    digest = hashlib.sha256()
    for path in (__file__, tiers.__file__):
        with open(path, "rb") as file:
            digest.update(file.read())
    return f"onnx {onnx.__version__}, tier {chosen}, {digest.hexdigest()[:16]}\n"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def to_bytes(value, name, kind):
    """A port's value as its message."""
    if hasattr(value, "SerializeToString"):
        return value.SerializeToString()
    if kind == "sequence_type":
        return numpy_helper.from_list(value, name).SerializeToString()
    if kind == "optional_type":
        return numpy_helper.from_optional(value, name).SerializeToString()
    return numpy_helper.from_array(np.asarray(value), name).SerializeToString()


def write_values(folder, values, prefix, ports):
    for index, value in enumerate(values):
        name = ports[index].name if index < len(ports) else ""
        kind = ports[index].type.WhichOneof("value") if index < len(ports) else "tensor_type"
        if value is None and kind != "optional_type":
            continue
        write(os.path.join(folder, f"{prefix}_{index}.pb"), to_bytes(value, name, kind))


def fed_inputs(graph):
    weights = {tensor.name for tensor in graph.initializer}
    return [port for port in graph.input if port.name not in weights]


def write_made(folder, case, model):
    """A node case: its values are in memory."""
    for index, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{index}")
        os.mkdir(data)
        write_values(data, inputs, "input", fed_inputs(model.graph))
        write_values(data, outputs, "output", model.graph.output)


def write_shipped(folder, case, _model):
    """A case whose files lie in the package."""
    for source in sorted(glob.glob(os.path.join(case.model_dir, "test_data_set_*"))):
        shutil.copytree(source, os.path.join(folder, os.path.basename(source)))


def light_path(case):
    root = os.path.dirname(os.path.dirname(os.path.abspath(onnx.__file__)))
    return os.path.join(root, case.url)


def write_light(folder, case, model):
    """A light network: the runner's own inputs, and the outputs that the package ships."""
    from onnx.backend.test.runner import Runner
    data = os.path.join(folder, "test_data_set_0")
    os.mkdir(data)
    inputs = [Runner.generate_dummy_data(port, seed=0, name=case.model_name, random=False)
              for port in fed_inputs(model.graph)]
    write_values(data, inputs, "input", fed_inputs(model.graph))
    stem = os.path.splitext(light_path(case))[0]
    for index in range(len(model.graph.output)):
        shutil.copy(f"{stem}_output_{index}.pb", os.path.join(data, f"output_{index}.pb"))


def write_case(folder, case, model, data):
    os.makedirs(folder)
    write(os.path.join(folder, "model.onnx"), data)
    if (case.rtol, case.atol) != (RTOL, ATOL):
        with open(os.path.join(folder, "data.json"), "w", encoding="utf-8") as file:
            json.dump({"rtol": case.rtol, "atol": case.atol}, file)
    if case.kind == "real":
        write_light(folder, case, model)
    elif case.model_dir is None:
        write_made(folder, case, model)
    else:
        write_shipped(folder, case, model)


def model_bytes(case):
    if case.model is not None:
        return case.model.SerializeToString()
    if case.kind == "real":
        return read(light_path(case))
    return read(os.path.join(case.model_dir, "model.onnx"))


def all_cases():
    from onnx.backend.test import loader
    for kind in ("node", "simple", "pytorch-converted", "pytorch-operator", "real"):
        for case in sorted(loader.load_model_tests(kind=kind), key=lambda case: case.name):
            yield kind, case


def export(folder, chosen):
    counts = collections.Counter()
    for kind, case in all_cases():
        data = model_bytes(case)
        model = onnx.ModelProto.FromString(data)
        facts = tiers.Facts(model)
        tier = (tiers.tier(facts) if tiers.is_core(case.name, facts) else "ml" if tiers.is_ml(case.name, facts)
                else "values" if tiers.is_values(facts) else "none")
        if chosen == tier == "none":
            print(f"{case.name}: {tiers.reason_of(case.name, facts)}")
            continue
        counts[tier] += 1
        if chosen == str(tier) or (chosen == "all" and tier in (1, 2, 3)):
            write_case(os.path.join(folder, kind, case.name), case, model, data)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="OUTDIR")
    parser.add_argument("--tier", default="all", choices=("1", "2", "3", "all", "ml", "values", "none"))
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    if arguments.tier == "none":
        export(arguments.folder, "none")
        return 0
    stamp_path = os.path.join(arguments.folder, "stamp")
    if os.path.exists(stamp_path) and read(stamp_path).decode() == stamp(arguments.tier):
        return 0
    partial = arguments.folder.rstrip("/") + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(partial)
    counts = export(partial, arguments.tier)
    write(os.path.join(partial, "stamp"), stamp(arguments.tier).encode())
    shutil.rmtree(arguments.folder, ignore_errors=True)
    os.replace(partial, arguments.folder)
    print(f"core cases: {counts[1]} of tier 1, {counts[2]} of tier 2, {counts[3]} of tier 3; "
          f"{counts['ml']} of tier ml; {counts['values']} of tier values; {counts['none']} of none")
    return 0


if __name__ == "__main__":
    sys.exit(main())
