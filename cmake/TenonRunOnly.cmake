# libtenon-run.a: what loads and runs plans, for devices that build none. It is a list of modules of src/ (scripts/check-layering
# holds that they need no other), the layers of TENON_RUN_LAYERS, and src/run_only/, which refuses what the builder would do. The
# objects are those of the shared library; a program links of them what it needs.
set(TENON_RUN_LAYERS "" CACHE STRING
    "Operators (like Conv;MaxPool) or folders of layers/ in the run-only library; empty: all of them")
set(run_modules base tensor device helper plugin guard graph program memory plan report engine isolation run)

# The folder of layers/ that has an operator, by name, or is called so itself.
function(tenon_find_layer name out_folder)
    if(EXISTS ${PROJECT_SOURCE_DIR}/layers/${name}/operator.c)
        set(${out_folder} ${name} PARENT_SCOPE)
        return()
    endif()
    file(GLOB_RECURSE sources ${PROJECT_SOURCE_DIR}/layers/*.c ${PROJECT_SOURCE_DIR}/layers/*.h)
    list(FILTER sources EXCLUDE REGEX "/layers/(onednn|ml)/|/layers/.*/cuda|/rewrites[^/]*$")
    foreach(source ${sources})
        get_property(text GLOBAL PROPERTY tenon_text_of_${source})
        if(NOT text) # each is read once
            file(READ ${source} text)
            set_property(GLOBAL PROPERTY tenon_text_of_${source} "${text}")
        endif()
        string(FIND "${text}" "\"${name}\"" at)
        if(at EQUAL -1)
            continue()
        endif()
        file(STRINGS ${source} found LIMIT_COUNT 1
            REGEX "(\\.name = |\\(|[(, ]([a-z_0-9]+, +)?\"[A-Za-z.]*\", +([a-z_0-9]+, +)?|[A-Z_]\\([a-z_0-9]+, +)\"${name}\"")
        if(found)
            file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/layers ${source})
            string(REGEX REPLACE "/.*" "" folder ${folder})
            set(${out_folder} ${folder} PARENT_SCOPE)
            return()
        endif()
    endforeach()
    message(FATAL_ERROR "TENON_RUN_LAYERS: no layer has an operator '${name}', and no folder of layers/ is called so")
endfunction()

# The folders of kernels that are no one operator's (of every elementwise one, a third party's too).
function(tenon_find_shared_layers out_folders)
    file(GLOB sources ${PROJECT_SOURCE_DIR}/layers/*/operator.c)
    set(folders "")
    foreach(source ${sources})
        file(STRINGS ${source} found LIMIT_COUNT 1 REGEX "\\.op = \"\\*\"|\"\\*\", \"\\*\"")
        if(found)
            get_filename_component(folder ${source} DIRECTORY)
            get_filename_component(folder ${folder} NAME)
            list(APPEND folders ${folder})
        endif()
    endforeach()
    set(${out_folders} ${folders} PARENT_SCOPE)
endfunction()

# A run-only library with some layers; none named: with all.
function(tenon_add_run_only target)
    set(folders "")
    foreach(name ${ARGN})
        tenon_find_layer(${name} folder)
        list(APPEND folders ${folder})
    endforeach()
    if(folders)
        tenon_find_shared_layers(shared)
        list(APPEND folders ${shared})
    endif()
    list(REMOVE_DUPLICATES folders)
    set(table ${CMAKE_BINARY_DIR}/layers/layer_table.c)
    if(folders)
        set(table ${CMAKE_BINARY_DIR}/layers/${target}_table.c)
        tenon_layer_table(${table} ${folders})
    endif()
    string(REPLACE ";" "|" modules "${run_modules}")
    add_library(${target} STATIC ${PROJECT_SOURCE_DIR}/src/run_only/lower_again.c ${PROJECT_SOURCE_DIR}/src/run_only/importers.c ${table}
        "$<FILTER:$<TARGET_OBJECTS:tenon_core>,INCLUDE,/tenon_core[.]dir/([.]/)*(${modules})/>"
        $<FILTER:$<TARGET_OBJECTS:tenon_layers>,EXCLUDE,/layer_table[.]c>)
    add_dependencies(${target} tenon_core tenon_layers)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src
        PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:tenon_flags,INTERFACE_COMPILE_OPTIONS>)
    target_link_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROTOBUF_C_LIBRARY_DIRS}>
        $<BUILD_INTERFACE:${XXHASH_LIBRARY_DIRS}>)
    target_link_libraries(${target} INTERFACE protobuf-c xxhash m dl pthread)
endfunction()
