/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operators of two inputs that are their expressions, as in maps.h:
 *
 *     COMBINE(prefix, name, since_version, function of tenon/kit/rows.h, the lowest version
 *             that its kernels serve, traits, facet, shape rule (null: the host's), expression,
 *             types of both inputs and the output, their names, what they are, documentation,
 *             cases ...)
 *     PAIR(prefix, name, since_version, traits, fields, expression, ...): no kernels but fused
 *     LEGACY(prefix, name, since_version, prefix of the row that it is a version of, facet,
 *            documentation, cases ...): before opset 7, where the second input is broadcast along
 *         given axes
 */
COMBINE(add, "Add", 7, TN_COMBINE_ADD, 0, TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE,
        sum_facet, NULL, "A + B", "T:number", "T", "T", "A", "B", "C", "first summand",
        "second summand", "the sum; integers wrap",
        "Sum of two tensors, broadcast with each other.", "| A=u8[2,9] B=u8[2,1]",
        "| A=i64[5,1,2] B=i64[3,1]", ARITHMETIC_CASES)
COMBINE(sub, "Sub", 7, TN_COMBINE_SUB, 0, TN_OPERATOR_ELEMENTWISE, NULL, NULL, "A - B", "T:number",
        "T", "T", "A", "B", "C", "what is taken from", "what is taken off",
        "the difference; integers wrap", "Difference of two tensors, broadcast with each other.",
        "| A=u8[2,2] B=u8[2,1]{3,250}", "| A=i64[5,1,2] B=i64[3,1]{-1,7,100}", ARITHMETIC_CASES)
COMBINE(mul, "Mul", 7, TN_COMBINE_MUL, 0, TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE,
        product_facet, NULL, "A * B", "T:number", "T", "T", "A", "B", "C", "first factor",
        "second factor", "the product; integers wrap",
        "Product of two tensors, broadcast with each other.", "| A=u8[2,2] B=u8[2,1]{3,250}",
        "| A=i64[5,1,2] B=i64[3,1]{-1,7,100}", ARITHMETIC_CASES)
COMBINE(div, "Div", 7, TN_COMBINE_DIV, 0, TN_OPERATOR_ELEMENTWISE, NULL, NULL, "A / B", "T:number",
        "T", "T", "A", "B", "C", "dividend", "divisor",
        "the quotient; of integers without the remainder",
        "Quotient of two tensors, broadcast with each other.", "| A=u8[2,2] B=u8[2,1]{3,250}",
        "| A=i64[5,1,2] B=i64[3,1]{-1,7,0}", ARITHMETIC_CASES)
COMBINE(pow, "Pow", 7, TN_COMBINE_POW, 0, TN_OPERATOR_ELEMENTWISE, NULL, NULL, "pow(X, Y)",
        "T:float|i64|i32", "number", "T", "X", "Y", "Z", "base", "exponent, of any type",
        "the powers", "Powers, base and exponent broadcast with each other.",
        "| X=f32[2,3,5,7] Y=f32[]{2}", "| X=f32[5]{0.1,1,2,30,7.5} Y=f32[5]",
        "| X=f32[2,1,3]{0.1,1,2,30,7.5,0} Y=f32[4,1]{0.5,-1,3,0}",
        "| X=f64[4]{0.1,1,2,30} Y=i32[4]{3,-1,0,2}", "| X=f16[33] Y=i64[1]{3}",
        "| X=i32[5]{-3,-1,0,2,7} Y=i64[5]{3,-5,0,31,12}",
        "| X=i64[4]{-3,1,2,9} Y=f32[4]{3,0.5,-1,0.5}", "| X=i64[2]{-1,3} Y=u64[]{3}",
        "| X=f32[0,3] Y=f32[1]", "| X=f32[64,384] Y=f32[]{2}",
        "| X=f32[1,8,1,1]{0.1,1,2,30,7.5,0.5,3,4} Y=f32[1,8,1,1]")
COMBINE(p_relu, "PRelu", 7, TN_COMBINE_PRELU, 7, TN_OPERATOR_ELEMENTWISE, NULL, slope_infer,
        "X < 0 ? slope * X : X", "T:number", "T", "T", "X", "slope", "Y", "any tensor",
        "slopes of negative numbers", "X with negative elements multiplied by the slope",
        "Rectified linear unit with slopes that are broadcast.",
        "| X=f32[2,3,5,7] slope=f32[3,1,1]", "| X=f32[2,3,5,7] slope=f32[2,3,5,7]",
        "| X=f32[4,33] slope=f32[33]", "| X=f32[] slope=f32[]", "| X=f64[3,4] slope=f64[1]",
        "| X=f16[3,33] slope=f16[33]", "| X=i32[2,9] slope=i32[9]",
        "| X=u64[2]{18446744073709551615,7} slope=u64[1]{3}", "| X=f32[0,3] slope=f32[3]",
        "| X=f32[1,64,56,56] slope=f32[64,1,1]")
PAIR(and, "And", 7, TN_OPERATOR_ELEMENTWISE, TN_NO_FIELDS, "A && B", "T:bool", "T", "bool", "A",
     "B", "C", "any tensor", "another one", "whether both are true",
     "Whether both are true, broadcast with each other.", LOGIC_CASES)
PAIR(or, "Or", 7, TN_OPERATOR_ELEMENTWISE, TN_NO_FIELDS, "A || B", "T:bool", "T", "bool", "A", "B",
     "C", "any tensor", "another one", "whether any of both is true",
     "Whether any of both is true, broadcast with each other.", LOGIC_CASES)
PAIR(xor, "Xor", 7, TN_OPERATOR_ELEMENTWISE, TN_NO_FIELDS, "A != B", "T:bool", "T", "bool", "A",
     "B", "C", "any tensor", "another one", "whether one of both is true",
     "Whether one of both is true, broadcast with each other.", LOGIC_CASES)
PAIR(equal, "Equal", 7, TN_OPERATOR_ELEMENTWISE, TN_NO_FIELDS, "A == B", "T:any", "T", "bool", "A",
     "B", "C", "any tensor", "what it is compared with", "whether they are equal",
     "Equality of two tensors, broadcast with each other.",
     "| A=f32[2,3]{1,2,3,4,5,6} B=f32[3]{4,2,3}",
     "| A=i64[3,1]{-1,0,9223372036854775807} B=i64[2]{9223372036854775807,0}",
     "| A=bool[4]{0,1,0,1} B=bool[4]{0,0,1,1}", "| A=f16[3]{1,2,3} B=f16[1]{2}",
     "| A=u64[2]{1,2} B=u64[]{2}", "| A=i8[0,3] B=i8[3]", "| A=f32[7,1,33] B=f32[5,1]")
PAIR(greater, "Greater", 7, TN_OPERATOR_ELEMENTWISE, TN_NO_FIELDS, "A > B", "T:number", "T", "bool",
     "A", "B", "C", "any tensor", "what it is compared with", "whether A is above B",
     "Whether numbers are above others, broadcast with each other.", COMPARISON_CASES)
PAIR(greater_or_equal, "GreaterOrEqual", 12, TN_OPERATOR_ELEMENTWISE, TN_NO_FIELDS, "A >= B",
     "T:number", "T", "bool", "A", "B", "C", "any tensor", "what it is compared with",
     "whether A is at least B", "Whether numbers are at least others, broadcast with each other.",
     COMPARISON_CASES)
PAIR(less, "Less", 7, TN_OPERATOR_ELEMENTWISE, TN_NO_FIELDS, "A < B", "T:number", "T", "bool", "A",
     "B", "C", "any tensor", "what it is compared with", "whether A is below B",
     "Whether numbers are below others, broadcast with each other.", COMPARISON_CASES)
PAIR(less_or_equal, "LessOrEqual", 12, TN_OPERATOR_ELEMENTWISE, TN_NO_FIELDS, "A <= B", "T:number",
     "T", "bool", "A", "B", "C", "any tensor", "what it is compared with", "whether A is at most B",
     "Whether numbers are at most others, broadcast with each other.", COMPARISON_CASES)
PAIR(mod, "Mod", 10, TN_OPERATOR_ELEMENTWISE, TN_FIELDS(mod_params, mod_fields),
     "fmod ? fmod(A, B) : mod(A, B)", "T:number", "T", "T", "A", "B", "C", "what is divided",
     "what it is divided by", "what is left", "Remainders of division.",
     "| A=i32[6]{-4,7,5,4,-7,8} B=i32[6]{2,-3,8,-2,3,5}",
     "fmod=1 | A=i32[6]{-4,7,5,4,-7,8} B=i32[6]{2,-3,8,-2,3,5}",
     "fmod=1 | A=f32[3]{-4.3,7.2,5} B=f32[3]{2.1,-3.4,8}", "| A=f64[3]{-4.3,7.2,5} B=f64[1]{2.5}",
     "| A=u64[2]{18446744073709551615,7} B=u64[]{10}",
     "| A=i64[3]{-9223372036854775808,5,6} B=i64[3]{-1,0,4}", "| A=u8[2,1]{200,7} B=u8[3]{7,255,1}",
     "fmod=1 | A=f16[2]{5,-5} B=f16[2]{3,3}", "| A=i8[0,3] B=i8[3]")
PAIR(bitwise_and, "BitwiseAnd", 18, TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE, TN_NO_FIELDS,
     "bitand(A, B)", "T:integer", "T", "T", "A", "B", "C", "any tensor", "another one",
     "the bits that both have", "Bits that both have, broadcast with each other.", BITWISE_CASES,
     "| A=u8[3]{12,255,5} B=u8[]{10} | C=u8[3]{8,10,0}")
PAIR(bitwise_or, "BitwiseOr", 18, TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE, TN_NO_FIELDS,
     "bitor(A, B)", "T:integer", "T", "T", "A", "B", "C", "any tensor", "another one",
     "the bits that one of both has", "Bits that any of both has, broadcast with each other.",
     BITWISE_CASES, "| A=u8[3]{12,255,5} B=u8[]{10} | C=u8[3]{14,255,15}")
PAIR(bitwise_xor, "BitwiseXor", 18, TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE, TN_NO_FIELDS,
     "bitxor(A, B)", "T:integer", "T", "T", "A", "B", "C", "any tensor", "another one",
     "the bits in which both differ", "Bits in which both differ, broadcast with each other.",
     BITWISE_CASES, "| A=u8[3]{12,255,5} B=u8[]{10} | C=u8[3]{6,245,15}")
PAIR(bit_shift_11, "BitShift", 11, TN_OPERATOR_ELEMENTWISE,
     TN_FIELDS(bit_shift_params, bit_shift_fields), SHIFT_TEXT, "T:u64|u32|u16|u8", "T", "T", "X",
     "Y", "Z", "any tensor", "by how many bits", "the shifted bits",
     "Bits moved to the left or right, broadcast with each other.", SHIFT_CASES)
PAIR(bit_shift_28, "BitShift", 28, TN_OPERATOR_ELEMENTWISE,
     TN_FIELDS(bit_shift_params, bit_shift_fields), SHIFT_TEXT, "T:integer", "T", "T", "X", "Y",
     "Z", "any tensor", "by how many bits", "the shifted bits; to the right the sign moves in",
     "Bits moved to the left or right, broadcast with each other.", SHIFT_CASES,
     "direction=RIGHT | X=i8[4]{-128,-1,100,-7} Y=i8[4]{9,1,-1,2} | Z=i8[4]{-1,-1,0,-2}",
     "direction=LEFT | X=i16[4]{-3,3,1,5} Y=i16[4]{2,14,16,-1} | Z=i16[4]{-12,-16384,0,0}",
     "direction=RIGHT | X=i64[2]{-9223372036854775808,7} Y=i64[2]{63,64} | Z=i64[2]{-1,0}")
LEGACY(add_6, "Add", 6, add, sum_axis_facet,
       "Sum of two tensors; the second may be broadcast along given axes.", LEGACY_CASES,
       "broadcast=1 axis=0 | A=f32[2,2]{1,2,3,4} B=f32[2]{10,20} | C=f32[2,2]{11,12,23,24}")
LEGACY(sub_6, "Sub", 6, sub, NULL,
       "Difference of two tensors; the second may be broadcast along given axes.", LEGACY_CASES,
       "broadcast=1 axis=0 | A=f32[2,2]{1,2,3,4} B=f32[2]{10,20} | C=f32[2,2]{-9,-8,-17,-16}")
LEGACY(mul_6, "Mul", 6, mul, product_axis_facet,
       "Product of two tensors; the second may be broadcast along given axes.", LEGACY_CASES,
       "broadcast=1 axis=0 | A=f32[2,2]{1,2,3,4} B=f32[2]{10,20} | C=f32[2,2]{10,20,60,80}")
LEGACY(div_6, "Div", 6, div, NULL,
       "Quotient of two tensors; the second may be broadcast along given axes.", LEGACY_CASES,
       "broadcast=1 axis=0 | A=f32[2,2]{1,2,3,4} B=f32[2]{2,8} | C=f32[2,2]{0.5,1,0.375,0.5}")
LEGACY(pow_1, "Pow", 1, pow, NULL, "Powers; the exponent may be broadcast along given axes.",
       "| X=f32[2,3,4]{0.5,1,2,3,4,5,6,7,8,9,10,11,0.5,1,2,3,4,5,6,7,8,9,10,11} Y=f32[2,3,4]",
       "broadcast=1 | X=f32[3]{0.1,2,30} Y=f32[]{0.5}",
       "broadcast=1 axis=0 | X=f64[3,2]{0.1,2,30,4,5,6} Y=f64[3]{2,3,-1}",
       "broadcast=1 axis=0 | X=f64[3,2]{0.5,2,30,4,5,4} Y=f64[3]{2,3,-1} | "
       "Z=f64[3,2]{0.25,4,27000,64,0.2,0.25}")
LEGACY(and_1, "And", 1, and, NULL,
       "Whether both are true; the second may be broadcast along given axes.", LEGACY_LOGIC_CASES,
       "broadcast=1 axis=0 | A=bool[2,2]{0,1,1,1} B=bool[2]{1,0} | C=bool[2,2]{0,1,0,0}")
LEGACY(or_1, "Or", 1, or, NULL,
       "Whether any of both is true; the second may be broadcast along given axes.",
       LEGACY_LOGIC_CASES,
       "broadcast=1 axis=0 | A=bool[2,2]{0,1,0,1} B=bool[2]{1,0} | C=bool[2,2]{1,1,0,1}")
LEGACY(xor_1, "Xor", 1, xor, NULL,
       "Whether one of both is true; the second may be broadcast along given axes.",
       LEGACY_LOGIC_CASES,
       "broadcast=1 axis=0 | A=bool[2,2]{0,1,1,1} B=bool[2]{1,0} | C=bool[2,2]{1,0,1,1}")
LEGACY(equal_1, "Equal", 1, equal, NULL,
       "Equality of two tensors; the second may be broadcast along given axes.",
       "| A=i32[3]{1,-2,3} B=i32[3]{1,2,3}",
       "broadcast=1 axis=0 | A=i64[2,2]{1,2,3,4} B=i64[2]{1,4}",
       "broadcast=1 | A=bool[2,2]{0,1,1,0} B=bool[]{1}",
       "broadcast=1 axis=0 | A=i64[2,2]{1,2,3,4} B=i64[2]{1,4} | C=bool[2,2]{1,0,0,1}")
LEGACY(greater_1, "Greater", 1, greater, NULL,
       "Whether numbers are above others, which may be broadcast along given axes.",
       LEGACY_COMPARISON_CASES,
       "broadcast=1 axis=0 | A=f64[2,2]{1,2,3,5} B=f64[2]{1,4} | C=bool[2,2]{0,1,0,1}")
LEGACY(less_1, "Less", 1, less, NULL,
       "Whether numbers are below others, which may be broadcast along given axes.",
       LEGACY_COMPARISON_CASES,
       "broadcast=1 axis=0 | A=f64[2,2]{0,2,3,4} B=f64[2]{1,4} | C=bool[2,2]{1,0,1,0}")
