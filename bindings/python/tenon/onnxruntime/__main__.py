# SPDX-License-Identifier: Apache-2.0
"""python -m tenon.onnxruntime PROGRAM.py ARGUMENTS..., or -m MODULE ARGUMENTS...: runs a program, for which this module is onnxruntime."""

import os
import runpy
import sys

from . import replace_onnxruntime


def main():
    words = sys.argv[1:]
    is_module = words[:1] == ["-m"]
    if len(words) < 1 + is_module or words[0] in ("-h", "--help"):
        sys.exit(__doc__)
    program = words[is_module]
    if not is_module and not os.path.exists(program):
        sys.exit(f"{program}: there is no such program")
    replace_onnxruntime()
    sys.argv = words[is_module:]
    if is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(program))
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
