# Loops that are compiled once for each processor level: one header has the loop, and each level is a file of its own, which
# is made here. Which one runs is chosen at run time, by the features that a kernel requires. How a level is
# compiled is in TenonKitLevels.cmake.

# What gcc's -O3 does to loops beside turning them into vectors makes them larger, seldom faster: most headers have tenon_loops
# (TenonFlags.cmake). These have -O3, without copies of loops for each turn that they may take; the last ones with them
# (bench/results/2026-11-29-core-size.md).
set(levels_of_long_loops "kit/elementwise/rows" "kit/gemm/matrix_types" "kit/int8/dot" "kit/int8/narrow_dot" "kit/int8/wide_dot" "kit/int8/tiles/tile_product"
    "kit/order/order" "kit/reduce/reduce_rows" "layers/attention/online" "layers/conv/winograd/tiles" "layers/layer_normalization/lanes"
    "layers/pool/rows" "layers/quantize/rows" "layers/recurrent/step" "layers/softmax/lanes")
set(levels_of_copied_loops "kit/gemm/matrix" "kit/region/tiles" "kit/resample/separable" "layers/batch_normalization/channels"
    "layers/conv/depthwise" "layers/conv/direct" "layers/fourier/fft" "layers/fourier/rows" "layers/lrn/columns")
set(single_loops_options "")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(single_loops_options -fno-peel-loops -fno-unswitch-loops -fno-split-loops -fno-ipa-cp-clone)
endif()

# Headers of loops that compute what their references do to the last bit: products are rounded before they are added.
set(levels_of_exact_loops "kit/int8/tiles/tile_product" "layers/quantized/rows" "layers/resize/quantized/bytes")

# The header; what it is to be given the name of, with the name but for the level; the levels.
set(tenon_levels
    "kit/elementwise/rows_body.h: TN_ROWS_LEVEL=tn_rows: baseline avx2 avx512"
    "kit/elementwise/cells_body.h: TN_CELLS_LEVEL=tn_cells: baseline avx2 avx512"
    "kit/gemm/matrix_body.h: TN_MATRIX_LEVEL=tn_matrix: baseline avx2 avx512"
    "kit/gemm/thin_body.h: TN_THIN_LEVEL=tn_thin: baseline avx2 avx512"
    "kit/int8/dot_body.h: TN_DOT_LEVEL=tn_dot: baseline avx512vnni"
    "kit/int8/narrow_dot_body.h: TN_DOT_LEVEL=tn_dot: avx2"
    "kit/int8/wide_dot_body.h: TN_DOT_LEVEL=tn_wide_dot: avx2"
    "kit/region/runs_body.h: TN_RUNS=tn_runs: baseline avx2 avx512"
    "kit/region/tiles_body.h: TN_TRANSPOSE=tn_transpose: baseline avx2 avx512"
    "kit/int8/tiles/tile_product_body.h: TN_TILE_LEVEL=tn_tile: avx512vnni amx"
    "kit/order/order_body.h: TN_ORDER_LEVEL=tn_order: baseline avx2 avx512"
    "kit/int8/integer_rows_body.h: TN_INTEGER_ROWS_LEVEL=tn_integer_rows: baseline avx2 avx512vnni"
    "kit/math/byte_table_body.h: TN_BYTE_TABLE_APPLY=tn_byte_table_apply: avx2 avx512"
    "layers/quantize/rows_body.h: TN_QUANTIZE_LEVEL=tn_quantize: baseline avx2 avx512"
    "layers/quantized/rows_body.h: TN_QUANTIZED_LEVEL=tn_quantized: baseline avx2 avx512"
    "kit/reduce/reduce_rows_body.h: TN_REDUCE_LEVEL=tn_reduce: baseline avx2 avx512"
    "kit/resample/separable_body.h: TN_RESAMPLE_LEVEL=tn_resample: baseline avx2 avx512"
    "kit/window/byte_pool_body.h: TN_BYTE_POOL_LEVEL=tn_byte_pool: baseline avx2 avx512vnni"
    "layers/attention/online_body.h: TN_ATTENTION_LEVEL=tn_attention TN_ATTENTION_MATRIX=tn_matrix: baseline avx2 avx512"
    "layers/batch_normalization/channels_body.h: TN_CHANNELS_LEVEL=tn_channels TN_CHANNELS_ROWS=tn_rows: baseline avx2 avx512"
    "layers/causal_conv/rows_body.h: TN_CAUSAL_CONV_ROW=tn_causal_conv: baseline avx2 avx512"
    "layers/conv/depthwise_body.h: TN_DEPTHWISE_LEVEL=tn_depthwise: baseline avx2 avx512vnni"
    "layers/conv/direct_body.h: TN_DIRECT_LEVEL=tn_direct: baseline avx2 avx512"
    "layers/conv_transpose/adding_body.h: TN_ADDING_LEVEL=tn_adding: baseline avx2 avx512"
    "layers/conv/winograd/tiles_body.h: TN_WINOGRAD_LEVEL=tn_winograd: avx2 avx512"
    "layers/cumulative/row_body.h: TN_CUMULATIVE_ROWS=tn_cumulative_rows: baseline avx2 avx512"
    "layers/deform_conv/columns_body.h: TN_DEFORM_COLUMNS_READ=tn_deform_columns_read: baseline avx2 avx512"
    "layers/dequantize_mat_mul/rows_body.h: TN_DEQUANTIZE_LEVEL=tn_dequantize_rows TN_DEQUANTIZE_MATRIX=tn_matrix: baseline avx2 avx512"
    "layers/fourier/fft_body.h: TN_FFT_LEVEL=tn_fft: baseline avx2 avx512"
    "layers/fourier/rows_body.h: TN_FOURIER_LEVEL=tn_fourier: baseline avx2 avx512"
    "layers/layer_normalization/lanes_body.h: TN_LAYER_NORMALIZATION_LANE=tn_layer_normalization: baseline avx2 avx512"
    "layers/linear_attention/step_body.h: TN_LINEAR_LEVEL=tn_linear: baseline avx2 avx512"
    "layers/lrn/columns_body.h: TN_LRN_LEVEL=tn_lrn: baseline avx2 avx512"
    "kit/gemm/matrix_types_body.h: TN_MATRIX_TYPES=tn_matrix_types: baseline avx2 avx512"
    "layers/pool/quantized/means_body.h: TN_MEANS_LEVEL=tn_means: baseline avx2 avx512"
    "layers/pool/rows_body.h: TN_POOL_ROWS_LEVEL=tn_pool_rows: baseline avx2 avx512"
    "layers/recurrent/step_body.h: TN_RECURRENT_STEP_LEVEL=tn_recurrent_step: baseline avx2 avx512"
    "layers/resize/quantized/bytes_body.h: TN_RESIZE_BYTES_LEVEL=tn_resize_bytes: baseline avx2 avx512"
    "layers/rotary_embedding/rotate_body.h: TN_ROTARY_FUNCTION=tn_rotary: baseline avx2 avx512"
    "layers/softmax/bytes_body.h: TN_SOFTMAX_BYTES_LEVEL=tn_softmax_bytes: baseline avx2 avx512"
    "layers/softmax/lanes_body.h: TN_SOFTMAX_LEVEL=tn_softmax: baseline avx2 avx512")

# The levels are those of x86. Elsewhere the baseline is all there is: the other levels' names stand for its tables, so that
# nothing is compiled twice, and no kernel that requires their features is ever chosen.
if(NOT tenon_is_x86)
    set(absent "")
    foreach(entry ${tenon_levels})
        string(REGEX MATCH "^(.*)_body\\.h: (.*): (.*)$" matched ${entry})
        string(REPLACE " " ";" names ${CMAKE_MATCH_2})
        string(REPLACE " " ";" levels ${CMAKE_MATCH_3})
        set(present "")
        if(baseline IN_LIST levels)
            set(present _baseline)
        endif()
        foreach(name ${names})
            string(REGEX REPLACE ".*=" "" name ${name})
            foreach(level avx2 avx512 avx512vnni)
                string(APPEND absent "#ifndef ${name}_${level}\n#define ${name}_${level} ${name}${present}\n#endif\n")
            endforeach()
        endforeach()
    endforeach()
    set(absent_levels ${CMAKE_BINARY_DIR}/absent_levels.h)
    file(CONFIGURE OUTPUT ${absent_levels} CONTENT "/* Generated from cmake/TenonLevels.cmake. */\n@absent@" @ONLY)
    target_compile_options(tenon_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-include${absent_levels}>)
endif()

# All of them, into the variable; for the folder of the target that they are built in. A layer whose folder was taken away
# has none.
macro(tenon_level_sources variable)
    set(${variable} "")
    foreach(entry ${tenon_levels})
        string(REGEX MATCH "^(.*)_body\\.h: (.*): (.*)$" matched ${entry})
        set(stem ${CMAKE_MATCH_1})
        string(REPLACE " " ";" names ${CMAKE_MATCH_2})
        string(REPLACE " " ";" levels ${CMAKE_MATCH_3})
        if(NOT tenon_is_x86)
            list(FILTER levels INCLUDE REGEX "^baseline$")
        endif()
        foreach(level ${levels})
            if(EXISTS ${PROJECT_SOURCE_DIR}/${stem}_body.h)
                tenon_level_file(${CMAKE_CURRENT_BINARY_DIR}/levels/${stem}_${level}.c ${stem}_body.h "${names}" ${level})
                set(options ${tenon_loops})
                if(stem IN_LIST levels_of_long_loops)
                    set(options ${single_loops_options})
                elseif(stem IN_LIST levels_of_copied_loops)
                    set(options "")
                endif()
                if(stem IN_LIST levels_of_exact_loops)
                    list(APPEND options -ffp-contract=off)
                endif()
                set_property(SOURCE ${CMAKE_CURRENT_BINARY_DIR}/levels/${stem}_${level}.c APPEND PROPERTY COMPILE_OPTIONS ${options})
                list(APPEND ${variable} ${CMAKE_CURRENT_BINARY_DIR}/levels/${stem}_${level}.c)
            endif()
        endforeach()
    endforeach()
endmacro()
