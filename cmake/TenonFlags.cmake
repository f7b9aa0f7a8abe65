# Compiler flags that every target of ours uses.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(tenon_is_x86 OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(tenon_is_x86 ON)
endif()

add_library(tenon_flags INTERFACE)
target_compile_options(tenon_flags INTERFACE
    -Wall -Wextra -Wshadow
    $<$<COMPILE_LANGUAGE:C>:-Wconversion -Wstrict-prototypes -Wmissing-prototypes>
    $<$<BOOL:${TENON_WERROR}>:-Werror>
    -fno-math-errno -ffp-contract=off)
if(TENON_SANITIZE)
    target_compile_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer -g1)
    target_link_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE})
    if(TENON_SANITIZE MATCHES "undefined") # a finding ends the program, so that a test sees it
        target_compile_options(tenon_flags INTERFACE -fno-sanitize-recover=undefined)
    endif()
endif()
if(TENON_BUILD_FUZZERS)
    target_compile_options(tenon_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# For what the core is linked from: no unwind tables, a twelfth of it (docs/decisions/no-unwind-tables.md), and a section for each
# function, so that those which nothing uses are left out.
set(tenon_small $<$<CONFIG:Release>:-fno-asynchronous-unwind-tables> $<$<CONFIG:Release>:-fno-unwind-tables>
    -ffunction-sections -fdata-sections)

# Relative relocations, of which the tables of operators have many, as a bitmap: a tenth of the library, and less to do at a start.
# Where the loader knows them (glibc 2.36).
option(TENON_PORTABLE "Need nothing of the C library that glibc 2.34 does not have, for binaries that go elsewhere" OFF)
if(NOT TENON_PORTABLE AND NOT CMAKE_CROSSCOMPILING)
    include(CheckCSourceRuns)
    set(CMAKE_REQUIRED_FLAGS "-fPIE -pie -Wl,-z,pack-relative-relocs")
    check_c_source_runs("static int one = 1; int *volatile pointers[2] = {&one, &one}; int main(void) { return *pointers[1] - 1; }"
        tenon_packs_relocations)
    unset(CMAKE_REQUIRED_FLAGS)
endif()
if(tenon_packs_relocations)
    target_link_options(tenon_flags INTERFACE -Wl,-z,pack-relative-relocs)
endif()

# Lowers the release's -O3 for sources (paths from the project's root) that match, the last call wins: what runs once a network, or
# when something is wrong, need not be fast. Other build types keep their own level.
function(tenon_optimise options pattern)
    foreach(source ${ARGN})
        file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
        if(name MATCHES "${pattern}")
            set_property(SOURCE ${source} PROPERTY COMPILE_OPTIONS "$<$<CONFIG:Release>:${options}>")
        endif()
    endforeach()
endfunction()

# For loops over elements: vectors as of -O3, and little else of it. gcc's -O2 makes next to none, clang's does.
set(tenon_loops "")
# The size of functions before the speed of calls: without padding before them and what is jumped to. Loops keep theirs.
set(tenon_unpadded "")
if(NOT TENON_SANITIZE AND NOT TENON_BUILD_FUZZERS)
    set(tenon_loops -O2)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        list(APPEND tenon_loops -ftree-loop-vectorize -fvect-cost-model=dynamic)
        set(tenon_unpadded -falign-functions=1 -falign-jumps=1 -falign-labels=1)
    endif()
endif()

# The core's threads are its own, and libgomp's for kernels that use it, which is loaded and not linked.
add_library(tenon_threads INTERFACE)
find_package(Threads REQUIRED)
target_link_libraries(tenon_threads INTERFACE Threads::Threads)
if(NOT TENON_WITH_OPENMP)
    target_compile_definitions(tenon_threads INTERFACE TN_NO_OPENMP)
endif()

# Sanitizers see as much at -O1, and compilers then take seconds for the unrolled loops, not minutes.
if(TENON_SANITIZE)
    set(level_optimisation -O1 -fno-math-errno)
    # gcc 12 puts what needs 64 bytes' alignment anywhere in the frames that it keeps for uses after a return
    # (https://gcc.gnu.org/PR110027).
    if(TENON_SANITIZE MATCHES address AND CMAKE_C_COMPILER_ID STREQUAL GNU)
        list(APPEND level_optimisation --param=asan-use-after-return=0)
    endif()
else()
    set(level_optimisation -O3 -fno-math-errno)
endif()
# Clang takes minutes a file for both in unrolled loops. Counters there guide no reader's fuzzer, and the tests under gcc's
# sanitizers see the kernels' undefined behaviour.
if(TENON_BUILD_FUZZERS)
    list(APPEND level_optimisation -fno-sanitize=fuzzer-no-link,undefined)
endif()
include(TenonKitLevels)
