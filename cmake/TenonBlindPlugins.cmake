# SPDX-License-Identifier: Apache-2.0
# Plugins with one mistake each, and sound ones, for tests/cli/check_blind_plugins.py: each line of the folder's tables
# (id, source, macro, ...) is a library, `ninja FOLDER` makes them all. Not part of `all`.
function(tenon_blind_plugins)
    get_filename_component(set ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    add_custom_target(${set})
    foreach(table ${ARGN})
        set(table ${CMAKE_CURRENT_SOURCE_DIR}/${table})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
        file(READ ${table} text)
        string(REGEX MATCHALL "\n[a-z0-9_]+\t[a-z0-9_]+\\.c(pp)?\tMISTAKE=[0-9]+" lines "${text}")
        foreach(line ${lines})
            string(REGEX MATCH "\n(.*)\t(.*)\t(.*)" fits "${line}")
            set(id ${CMAKE_MATCH_1})
            set(source ${CMAKE_MATCH_2})
            set(macro ${CMAKE_MATCH_3})
            set(target ${set}_${id})
            add_library(${target} MODULE EXCLUDE_FROM_ALL ${source})
            set_target_properties(${target} PROPERTIES
                PREFIX "" OUTPUT_NAME ${id} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${set})
            target_compile_definitions(${target} PRIVATE ${macro})
            # As an author compiles. A mistake is often what a warning would say.
            target_compile_options(${target} PRIVATE -w -U_FORTIFY_SOURCE)
            target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
            target_link_libraries(${target} PRIVATE m pthread)
            add_dependencies(${set} ${target})
        endforeach()
    endforeach()
endfunction()
