# The kernel kit for plugins (docs/kernel-kit.md): the headers include/tenon/kit/, and libtenon_kit.a with what they declare, of
# the objects that the built-in layers are linked from. What these units need is in the library; the rest of kit/ is private.
set(kit_units elementwise/cells elementwise/rows gemm/matrix gemm/matrix_kernel gemm/matrix_product int8/dot int8/dot_end int8/dot_pack
    int8/int8_matrix int8/narrow_dot math/byte_table math/element operator/broadcast operator/epilogue operator/infer operator/known_steps
    operator/physical operator/strided reduce/reduce_rows region/region region/runs region/tiles resample/separable)
string(REPLACE ";" "|" kit_pattern "${kit_units}")
add_library(tenon_kit STATIC
    "$<FILTER:$<TARGET_OBJECTS:tenon_layers>,INCLUDE,/kit/(${kit_pattern})(_baseline|_avx2|_avx512|_avx512vnni)?[.]c>")
add_dependencies(tenon_kit tenon_layers)
set_target_properties(tenon_kit PROPERTIES LINKER_LANGUAGE C EXPORT_NAME kit)
target_link_libraries(tenon_kit INTERFACE tenon_plugin m)
if(TENON_SANITIZE) # its objects call the sanitizer
    target_link_options(tenon_kit INTERFACE -fsanitize=${TENON_SANITIZE})
endif()
add_library(tenon::kit ALIAS tenon_kit)

# For CUDA: headers alone.
add_library(tenon_kit_cuda INTERFACE)
set_target_properties(tenon_kit_cuda PROPERTIES EXPORT_NAME kit_cuda)
target_link_libraries(tenon_kit_cuda INTERFACE tenon_plugin)
add_library(tenon::kit_cuda ALIAS tenon_kit_cuda)

file(STRINGS ${PROJECT_SOURCE_DIR}/include/tenon/kit/version.h kit_numbers REGEX "define TN_KIT_(MAJOR|MINOR) ")
list(TRANSFORM kit_numbers REPLACE "[^0-9]" "")
list(JOIN kit_numbers "." kit_version)
