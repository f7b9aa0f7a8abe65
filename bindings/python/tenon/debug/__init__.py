# SPDX-License-Identifier: Apache-2.0
"""Finding what is wrong with a network: where its numbers begin to differ, which nodes cost the accuracy, the smallest model that
still fails.

    import tenon.debug
    tenon.debug.compare("model.onnx", inputs, against="onnxruntime", every_node=True)
    tenon.debug.bisect("model.onnx", inputs, "int8", max_loss=0.01)
    tenon.debug.reduce("model.onnx", inputs, "differs from onnxruntime").save("reduced")
"""

from ._bisect import Cost, Costs, bisect
from ._compare import compare
from ._reduce import Reduced, reduce
from ._table import Comparison, Difference, Row

__all__ = ["Comparison", "Cost", "Costs", "Difference", "Reduced", "Row", "bisect", "compare", "reduce"]
