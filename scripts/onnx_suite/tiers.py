# SPDX-License-Identifier: Apache-2.0
"""Which cases of ONNX's backend tests count as core, and the tier of each.

Core: the domain ai.onnx, and tensors of floating-point numbers of 16, 32 and 64 bits, bfloat16, floats of 8
and 4 bits, integers of 2 to 64 bits and bool alone: no sequence, optional, map, string, image codec, training or random output. A case's
tier is the highest tier of its operators, those of function bodies and subgraphs included. Tier 1 is what
exporters of vision networks emit, tier 2 what detection and transformer networks add, tier 3 the rest. Beside
them tier "ml" has classical machine learning, the domain ai.onnx.ml, and strings, and tier "values" sequences
and optionals. What is in none of them is left out for a reason (reason_of).
"""

import onnx

TIER_1 = frozenset("""
    Add AveragePool BatchNormalization Cast Clip Concat Constant ConstantOfShape Conv ConvTranspose Div Dropout
    Equal Erf Exp Expand Flatten Gather Gelu Gemm GlobalAveragePool HardSigmoid HardSwish Identity
    LayerNormalization LeakyRelu MatMul MaxPool Mul Pad Pow ReduceMean ReduceSum Relu Reshape Resize Shape
    Sigmoid Slice Softmax Split Sqrt Squeeze Sub Tanh Transpose Unsqueeze Where""".split())

TIER_2 = frozenset("""
    Abs And ArgMax ArgMin Attention CastLike Ceil ConvInteger Cos CumSum DepthToSpace DequantizeLinear
    DynamicQuantizeLinear Einsum Elu Floor GRU GatherElements GatherND GlobalMaxPool Greater GreaterOrEqual
    GridSample GroupNormalization If InstanceNormalization IsNaN LRN LSTM Less LessOrEqual Log LogSoftmax Loop
    LpNormalization MatMulInteger Max Min Mish Mod Neg NonMaxSuppression NonZero Not OneHot Or PRelu
    QLinearConv QLinearMatMul QuantizeLinear RMSNormalization Range Reciprocal ReduceL2 ReduceMax ReduceMin
    ReduceProd RoiAlign RotaryEmbedding Round ScatterElements ScatterND Selu Sign Sin Size Softplus
    SpaceToDepth Sum Swish Tile TopK Trilu Upsample""".split())

TYPES = frozenset((
    onnx.TensorProto.UNDEFINED, onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE,
    onnx.TensorProto.BFLOAT16, onnx.TensorProto.INT8, onnx.TensorProto.INT16, onnx.TensorProto.INT32,
    onnx.TensorProto.INT64, onnx.TensorProto.UINT8, onnx.TensorProto.UINT16, onnx.TensorProto.UINT32,
    onnx.TensorProto.UINT64, onnx.TensorProto.BOOL, onnx.TensorProto.FLOAT8E4M3FN, onnx.TensorProto.FLOAT8E4M3FNUZ,
    onnx.TensorProto.FLOAT8E5M2, onnx.TensorProto.FLOAT8E5M2FNUZ, onnx.TensorProto.FLOAT8E8M0, onnx.TensorProto.FLOAT4E2M1,
    onnx.TensorProto.INT4, onnx.TensorProto.UINT4, onnx.TensorProto.INT2, onnx.TensorProto.UINT2))

# Operators of strings that also have cases without strings, and operators of pictures' files.
NOT_OF_TENSORS = frozenset(("ImageDecoder", "TfIdfVectorizer"))

# Operators whose cases have no fixed result.
RANDOM = frozenset("Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split())
RANDOM_CASES = ("test_bernoulli", "test_training_dropout_default", "test_training_dropout_mask")


def has_random_output(name):
    return name.startswith(RANDOM_CASES) or name == "test_training_dropout"


class Facts:
    """What a model uses: operators (domain, name), element types, and whether any value is not a tensor."""

    def __init__(self, model):
        self.operators, self.types, self.has_other_values, self.domains = set(), set(), False, set()
        local = {(f.domain, f.name) for f in model.functions}
        self._graph(model.graph)
        for function in model.functions:
            self._nodes(function.node)
        self.operators -= local

    def _graph(self, graph):
        for value in [*graph.input, *graph.output, *graph.value_info]:
            self._type(value.type)
        for tensor in graph.initializer:
            self.types.add(tensor.data_type)
        if graph.sparse_initializer:
            self.has_other_values = True
        self._nodes(graph.node)

    def _type(self, value_type):
        kind = value_type.WhichOneof("value")
        if kind == "tensor_type":
            self.types.add(value_type.tensor_type.elem_type)
        elif kind is not None:
            self.has_other_values = True

    def _nodes(self, nodes):
        for node in nodes:
            self.operators.add((node.domain if node.domain != "ai.onnx" else "", node.op_type))
            for attribute in node.attribute:
                self._attribute(node, attribute)

    def _attribute(self, node, attribute):
        if node.op_type in ("Cast", "BitCast") and attribute.name == "to":
            self.types.add(attribute.i)
        if node.op_type == "Constant" and attribute.name in ("value_string", "value_strings", "sparse_value"):
            self.has_other_values = True
        for tensor in [attribute.t, *attribute.tensors]:
            self.types.add(tensor.data_type)
        for graph in [attribute.g, *attribute.graphs]:
            self._graph(graph)


def is_core(name, facts):
    return (not facts.has_other_values and facts.types <= TYPES and not has_random_output(name)
            and all(domain == "" for domain, _ in facts.operators)
            and not any(op.startswith(("Sequence", "Optional")) or op in NOT_OF_TENSORS or op in RANDOM
                        for _, op in facts.operators))


def is_ml(name, facts):
    """Not core, but of tensors alone: the domain ai.onnx.ml, strings, and what makes features of words."""
    operators = {op for _, op in facts.operators}
    return (not is_core(name, facts) and not facts.has_other_values and facts.types <= TYPES | {onnx.TensorProto.STRING}
            and {domain for domain, _ in facts.operators} <= {"", "ai.onnx.ml"}
            and not operators & (RANDOM | {"ImageDecoder"}) and not has_random_output(name)
            and not any(op.startswith(("Sequence", "Optional")) for op in operators))


def is_values(facts):
    """Sequences and optionals, as inputs, outputs or between nodes."""
    return (facts.types <= TYPES | {onnx.TensorProto.STRING} and {domain for domain, _ in facts.operators} == {""}
            and (facts.has_other_values or any(op.startswith(("Sequence", "Optional", "SplitToSequence")) for _, op in facts.operators)))


def reason_of(name, facts):
    """Why a case of no tier is left out."""
    domains = {domain for domain, _ in facts.operators}
    operators = {op for _, op in facts.operators}
    if "ai.onnx.preview.training" in domains:
        return "training: optimizers and gradients are no part of an inference engine"
    if "ai.onnx.preview" in domains:
        return "a preview domain, whose operators may still change"
    if "ImageDecoder" in operators:
        return "codecs of image files: pictures come decoded"
    if operators & RANDOM or has_random_output(name):
        return "random: the expected values are one generator's"
    return "unknown"


def tier(facts):
    return max((1 if op in TIER_1 else 2 if op in TIER_2 else 3) for _, op in facts.operators)
