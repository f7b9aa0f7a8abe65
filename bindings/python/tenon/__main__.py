# SPDX-License-Identifier: Apache-2.0
"""python -m tenon: the command line that is installed with the package."""

import os
import sys

from tenon._files import program

if __name__ == "__main__":
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
