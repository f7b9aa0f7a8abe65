/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with fields, shapes and values that built-in operators refuse, in shape rules or in runs:
 * by the reference and by the kernel of the highest level, the message names what is wrong. */
#include "cases/case.h"
#include "cases/conformance.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

/* A case of the operator, and a part of the message. */
typedef struct refusal {
    const char *op;
    uint32_t version;
    const char *text, *expected;
} refusal;

#define LAYER  "W=f32[1,8,3] R=f32[1,8,2]"
#define GRU    "W=f32[1,6,3] R=f32[1,6,2]"
#define SIGNAL "signal=f32[1,40,1]"
#define MEL    "num_mel_bins=i64[]{8} dft_length=i64[]{16} "

static const refusal refusals[] = {
    {"LSTM", 22, "| X=f32[4,2,3] " LAYER " sequence_lens=i32[2]{4,5}",
     "input 'sequence_lens' has 5 for sequence 1, outside 0..4"},
    {"LSTM", 22, "| X=f32[4,2,3] " LAYER " sequence_lens=i32[2]{-1,4}",
     "input 'sequence_lens' has -1 for sequence 0"},
    {"GRU", 22, "| X=f32[4,2,3] " GRU " sequence_lens=i32[2]{4,2147483647}",
     "input 'sequence_lens' has 2147483647"},
    {"LSTM", 22, "| X=f16[4,2,3] W=f16[1,8,3] R=f16[1,8,2] sequence_lens=i32[2]{1,6}",
     "input 'sequence_lens' has 6 for sequence 1, outside 0..4"},
    {"RNN", 22,
     "layout=batch_first | X=f32[2,4,3] W=f32[1,2,3] R=f32[1,2,2] sequence_lens=i32[2]{5,0}",
     "input 'sequence_lens' has 5 for sequence 0, outside 0..4"},
    {"LSTM", 22, "| X=f32[4,2,3] " LAYER " sequence_lens=i32[3]{1,1,1}",
     "input 'sequence_lens' has the shape [3] instead of [2]"},
    {"LSTM", 22, "| X=f32[4,2,3] W=f32[1,0,3] R=f32[1,0,0]", "input 'R' has a hidden size of 0"},
    {"LSTM", 22, "hidden_size=0 | X=f32[4,2,3] " LAYER, "field 'hidden_size' is 0"},
    {"LSTM", 22, "hidden_size=3 | X=f32[4,2,3] " LAYER, "field 'hidden_size' is 3"},
    {"LSTM", 22, "| X=f32[4,2,5] " LAYER, "input 'W' has the shape [1, 8, 3] instead of [1, 8, 5]"},
    {"LSTM", 22, "direction=bidirectional | X=f32[4,2,3] " LAYER,
     "input 'R' has the shape [1, 8, 2] instead of [2, 8, 2]"},
    {"LSTM", 22, "| X=f32[4,3] " LAYER, "input 'X' has rank 2"},
    {"LSTM", 22, "| X=f32[4,2,3] " LAYER " B=f32[1,8]",
     "input 'B' has the shape [1, 8] instead of [1, 16]"},
    {"LSTM", 22, "| X=f32[4,2,3] " LAYER " P=f32[1,8]", "input 'P'"},
    {"LSTM", 22, "layout=batch_first | X=f32[2,4,3] " LAYER " initial_h=f32[1,2,2]",
     "input 'initial_h' has the shape [1, 2, 2] instead of [2, 1, 2]"},
    {"LSTM", 22, "activations=[\"Sigmoid\",\"Tanh\",\"Gelu\"] | X=f32[4,2,3] " LAYER,
     "field 'activations' names 'Gelu'"},
    {"LSTM", 22, "activations=[\"Sigmoid\"] | X=f32[4,2,3] " LAYER,
     "field 'activations' has 1 names; 3 are expected"},
    {"GRU", 22, "clip=-1 | X=f32[4,2,3] " GRU, "field 'clip'"},
    {"RNN", 22, "direction=sideways | X=f32[4,2,3] W=f32[1,2,3] R=f32[1,2,2]", "field 'direction'"},
    {"GRU", 7, "layout=1 | X=f32[4,2,3] " GRU, "layout"},
    {"DFT", 20, "| input=f32[1,4,1] dft_length=i64[]{0}", "input 'dft_length' is 0"},
    {"DFT", 20, "| input=f32[1,4,1] dft_length=i64[]{-4}", "input 'dft_length' is -4"},
    {"DFT", 20, "| input=f32[1,4,1] dft_length=i64[]{9223372036854775807}",
     "input 'dft_length' is 9223372036854775807"},
    {"DFT", 20, "| input=f32[1,4,1] dft_length=i64[]{2000000000000000000}", "large"},
    {"DFT", 20, "| input=f32[1,0,1]", "the length of the transform is 0"},
    {"DFT", 20, "| input=f32[1,4,3]", "input 'input' has 3 elements along its last axis"},
    {"DFT", 20, "| input=f32[1,4,1] axis=i64[]{-1}", "input 'axis' is -1"},
    {"DFT", 20, "| input=f32[1,4,1] axis=i64[]{3}", "input 'axis' is 3"},
    {"DFT", 17, "axis=2 | input=f32[1,4,1]", "field 'axis' is 2"},
    {"DFT", 20, "onesided=1 | input=f32[1,4,2]", "field 'onesided' is 1"},
    {"STFT", 17, "| " SIGNAL " frame_step=i64[]{0} frame_length=i64[]{8}",
     "input 'frame_step' is 0"},
    {"STFT", 17, "| " SIGNAL " frame_step=i64[]{4} frame_length=i64[]{0}",
     "frames have 0 elements"},
    {"STFT", 17, "| " SIGNAL " frame_step=i64[]{4} window=f32[0]", "frames have 0 elements"},
    {"STFT", 17, "| " SIGNAL " frame_step=i64[]{4} window=f32[8] frame_length=i64[]{9}",
     "input 'window' has 8 elements"},
    {"STFT", 17, "| signal=f32[1,40,2] frame_step=i64[]{4} frame_length=i64[]{8}",
     "field 'onesided' is 1"},
    {"HannWindow", 17, "| size=i64[]{-1}", "input 'size' is -1"},
    {"HannWindow", 17, "| size=i64[]{9223372036854775807}", "too large"},
    {"BlackmanWindow", 17, "output_datatype=bool | size=i64[]{3}", "field 'output_datatype'"},
    {"MelWeightMatrix", 17,
     "| " MEL "sample_rate=i64[]{0} lower_edge_hertz=f32[]{0} upper_edge_hertz=f32[]{1}",
     "input 'sample_rate' is 0"},
    {"MelWeightMatrix", 17,
     "| " MEL "sample_rate=i64[]{8000} lower_edge_hertz=f32[]{0} upper_edge_hertz=f32[]{90000}",
     "input 'upper_edge_hertz' is 90000"},
    {"MelWeightMatrix", 17,
     "| " MEL "sample_rate=i64[]{8000} lower_edge_hertz=f32[]{-5} upper_edge_hertz=f32[]{100}",
     "inputs 'lower_edge_hertz' and 'upper_edge_hertz' are -5 and 100"},
    {"MelWeightMatrix", 17,
     "| num_mel_bins=i64[]{0} dft_length=i64[]{16} sample_rate=i64[]{8000} "
     "lower_edge_hertz=f32[]{0} upper_edge_hertz=f32[]{100}",
     "input 'num_mel_bins' is 0"},
    /* What only values show. */
    {"Gather", 13, "| data=f32[3,4] indices=i64[1]{3}", "index 3 at position 0 is outside -3..2"},
    {"GatherElements", 13, "| data=f32[3,4] indices=i64[1,1]{-4}",
     "index -4 at position 0 is outside -3..2"},
    {"GatherND", 13, "| data=f32[3,4] indices=i64[1,2]{0,4}",
     "index 4 at position 1 is outside -4..3"},
    {"ScatterElements", 18, "| data=f32[3] indices=i64[1]{9} updates=f32[1]",
     "index 9 at position 0 is outside -3..2"},
    {"ScatterND", 18, "| data=f32[3] indices=i64[1,1]{7} updates=f32[1]",
     "index 7 at position 0 is outside -3..2"},
    {"Reshape", 14, "| data=f32[3,4] shape=i64[2]{-2,6}", "the shape [-2, 6]"},
    {"Reshape", 14, "| data=f32[3,4] shape=i64[2]{4611686018427387904,4611686018427387904}",
     "cannot be given the shape"},
    {"Slice", 13, "| data=f32[3] starts=i64[1]{0} ends=i64[1]{3} axes=i64[1]{0} steps=i64[1]{0}",
     "the step along axis 0 is zero"},
    {"Range", 11, "| start=i64[]{0} limit=i64[]{9} delta=i64[]{0}", "input 'delta' is zero"},
    {"Range", 11, "| start=i64[]{0} limit=i64[]{4611686018427387904} delta=i64[]{1}", "too large"},
    {"Range", 11, "| start=f32[]{0} limit=f32[]{nan} delta=f32[]{1}", "no finite range"},
    {"Expand", 13, "| input=f32[3,4] shape=i64[2]{-1,4}", "does not broadcast with [-1, 4]"},
    {"Tile", 13, "| input=f32[3] repeats=i64[1]{-1}", "repeated -1 times"},
    {"Tile", 13, "| input=f32[3,4] repeats=i64[2]{1099511627776,1099511627776}", "too large"},
    {"TopK", 11, "| X=f32[4] K=i64[1]{5}", "5 of the 4 elements"},
    {"OneHot", 11, "| indices=i64[1]{1} depth=i64[]{-3} values=f32[2]{0,1}", "negative"},
    {"ConstantOfShape", 9, "| input=i64[2]{1099511627776,1099511627776}", "too large"},
    {"Split", 13, "| input=f32[3] split=i64[1]{2}", "do not sum to the axis's extent 3"},
    {"ReverseSequence", 10, "| input=f32[3,1] sequence_lens=i64[1]{9}", "length 9 of 3"},
    {"Pad", 13, "| data=f32[3] pads=i64[2]{-9,0}", "negative"},
    {"Pad", 13, "| data=f32[3] pads=i64[2]{4611686018427387904,4611686018427387904}", "pads of"},
    {"Resize", 13, "| X=f32[1,3] scales=f32[2]{1,nan}", "scale 1 is nan"},
    {"Col2Im", 18, "| input=f32[1,4,4] image_shape=i64[2]{-3,3} block_shape=i64[2]{2,2}",
     "has the extent -3"},
    {"MaxUnpool", 11, "kernel_shape=[2] strides=[2] | X=f32[1,1,1] I=i64[1,1,1]{-9}",
     "index -9 is outside"},
};

/* ONNX's operator of a version. */
typedef struct wanted {
    const char *name;
    uint32_t version;
    const tn_operator *op;
} wanted;

static bool note_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    wanted *it = user;
    (void)library;
    if (op->domain[0] == 0 && strcmp(op->name, it->name) == 0 && op->since_version <= it->version &&
        (!it->op || op->since_version > it->op->since_version))
        it->op = op;
    return true;
}

/* Weights are constants, so that kernels take the node. */
static void try_refusal(tn_runtime *runtime, const refusal *it, bool is_reference) {
    wanted found = {it->op, it->version, NULL};
    tn_arena *arena = NULL;
    tn_case c;
    tn_outcome outcome = {0};
    const tn_case_options options = {
        .is_reference = is_reference, .are_constant = true, .threads = 1};
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    tn_runtime_visit_operators(runtime, note_operator, &found);
    assert_non_null(found.op);
    const tn_operator *op = found.op;
    tn_status status = tn_case_read(arena, op, it->text, &c);
    if (status == TN_OK) status = tn_case_run(runtime, op, &c, &options, &outcome);
    if (status == TN_OK) fail_msg("%s %s is taken", it->op, it->text);
    if (!strstr(tn_last_error()->message, it->expected))
        fail_msg("%s %s: '%s' instead of '%s'", it->op, it->text, tn_last_error()->message,
                 it->expected);
    tn_outcome_free(&outcome);
    tn_arena_destroy(arena);
}

static void test_messages_name_what_is_wrong(void **state) {
    tn_runtime *runtime;
    const tn_runtime_options options = {.size = sizeof(options),
                                        .flags = TN_RUNTIME_NO_KERNEL_LIBRARIES};
    (void)state;
    assert_int_equal(tn_runtime_create(&options, &runtime), TN_OK);
    for (size_t i = 0; i < TEST_COUNT(refusals); i++) {
        try_refusal(runtime, &refusals[i], true);
        try_refusal(runtime, &refusals[i], false);
    }
    tn_runtime_release(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages_name_what_is_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
