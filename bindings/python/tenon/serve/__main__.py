# SPDX-License-Identifier: Apache-2.0
"""python -m tenon.serve: tenon-serve."""

import sys

from ._command import main

sys.exit(main())
