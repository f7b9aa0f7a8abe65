# SPDX-License-Identifier: Apache-2.0
"""What is installed beside the package: headers, the kit's library, programs. In a build folder it is where that has them."""

import os

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def _source():
    from tenon import _source  # CMake writes it into a build folder's package
    return _source


def get_include():
    """The folder of the C headers (tenon/plugin.h, tenon/kit/...), for the compiler's -I."""
    installed = os.path.join(PACKAGE, "include")
    return installed if os.path.isdir(installed) else _source().INCLUDE


def get_library_dir():
    """The folder of libtenon and the kit's library libtenon_kit.a, for the linker's -L."""
    installed = os.path.join(PACKAGE, "lib")
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(_source().PROGRAMS), "lib")


def program(name="tenon"):
    """The path of a program: "tenon" (the command line), "tenon-check", "tenon-kernel-bench", "tenon-isolate"."""
    folders = [os.path.join(PACKAGE, "bin"), os.path.join(PACKAGE, "lib", "tenon")]
    if not os.path.isdir(folders[0]):
        folders = [_source().PROGRAMS]
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"the program {name} is not in {' or '.join(folders)}")
