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

add_library(tenon_flags INTERFACE)
target_compile_options(tenon_flags INTERFACE
    -Wall -Wextra -Wshadow
    $<$<COMPILE_LANGUAGE:C>:-Wconversion -Wstrict-prototypes -Wmissing-prototypes>
    $<$<BOOL:${TENON_WERROR}>:-Werror>
    -fno-math-errno -ffp-contract=off)
if(TENON_SANITIZE)
    target_compile_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer -g)
    target_link_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE})
endif()
