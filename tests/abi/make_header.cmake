# Makes tenon/plugin.h as it was before some members were appended, or as it will be after: `cmake -DMODE=older|newer
# -DFROM=plugin.h -DTO=FILE -P make_header.cmake`. The older one lacks the last members of the tables, the newer one has more.
file(READ ${FROM} text)

# Takes a piece out; it must be there, so that this script is mended when the header grows.
macro(take_out piece)
    string(FIND "${text}" "${piece}" at)
    if(at LESS 0)
        message(FATAL_ERROR "plugin.h no longer has: ${piece}")
    endif()
    string(REPLACE "${piece}" "" text "${text}")
endmacro()

# Puts members before the end of a struct.
macro(append_to end)
    string(FIND "${text}" "${end}" at)
    if(at LESS 0)
        message(FATAL_ERROR "plugin.h no longer has: ${end}")
    endif()
    string(REPLACE "${end}" "    uint64_t future_words[3];\n    void *(*future_call)(void *);\n${end}" text "${text}")
endmacro()

if(MODE STREQUAL "older")
    string(REGEX MATCH "    TN_OPERATOR_SELECTS =[^}]*" selects "${text}")
    take_out("${selects}")
    take_out("    uint64_t case_count;\n    const char *const *cases;\n")
    take_out("TN_FROZEN(tn_operator, cases, 200);\n")
    take_out("    void *host_private;\n")
    take_out("    tn_status (*register_kernel)(const tn_host *host, tn_library *library,\n                                 const tn_kernel *kernel) TN_NOEXCEPT;\n")
    take_out("TN_FROZEN(tn_host, register_kernel, 80);\n")
else()
    append_to("} tn_tensor;")
    append_to("} tn_field;")
    append_to("} tn_port;")
    append_to("} tn_step;")
    append_to("} tn_facet;")
    # The structs that are declared before they are defined end alike: each by the comment that follows it.
    string(REPLACE "\n    uint64_t case_count;\n    const char *const *cases;\n};" "\n    uint64_t case_count;\n    const char *const *cases;\n    uint64_t future_words[3];\n};" text "${text}")
    string(REPLACE "    void *host_private;\n};" "    void *host_private;\n    uint64_t future_words[3];\n};" text "${text}")
    string(REPLACE "#define TN_ABI_MINOR 0u" "#define TN_ABI_MINOR 7u" text "${text}")
endif()
file(WRITE ${TO} "${text}")
