# What `cmake --install` puts where: the library, its kernel companions, the headers, the program, and what find_package and
# pkg-config need.
include(CMakePackageConfigHelpers)

add_library(tenon_plugin INTERFACE)
add_library(tenon::plugin ALIAS tenon_plugin)
add_library(tenon::tenon ALIAS tenon)
set_target_properties(tenon_plugin PROPERTIES EXPORT_NAME plugin)
target_include_directories(tenon_plugin INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

include(TenonKit)

add_library(tenon::run ALIAS tenon_run_static)
install(TARGETS tenon tenon_plugin tenon_run_static tenon_kit tenon_kit_cuda EXPORT tenonTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET tenon_onednn)
    install(TARGETS tenon_onednn LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon/kernels)
    install(FILES ${PROJECT_SOURCE_DIR}/layers/onednn/kernels.txt DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon/kernels
        RENAME libtenon_onednn.so.kernels)
endif()
if(TARGET tenon_ml)
    install(TARGETS tenon_ml LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon/operators)
    install(FILES ${PROJECT_SOURCE_DIR}/layers/ml/operators.txt DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon/operators
        RENAME libtenon_ml.so.operators)
endif()
if(TARGET tenon_cuda)
    install(TARGETS tenon_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon/devices)
endif()
if(TARGET tenon_program)
    install(TARGETS tenon_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(TARGETS tenon_check tenon_kernel_bench tenon_isolate RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)
export(EXPORT tenonTargets NAMESPACE tenon:: FILE ${CMAKE_BINARY_DIR}/tenonTargets.cmake) # the build folder is a package too
install(EXPORT tenonTargets NAMESPACE tenon:: DESTINATION ${config_dir})
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/tenonConfig.cmake
    "include(\"\${CMAKE_CURRENT_LIST_DIR}/tenonTargets.cmake\")
include(\"\${CMAKE_CURRENT_LIST_DIR}/TenonCuda.cmake\")
include(\"\${CMAKE_CURRENT_LIST_DIR}/TenonKitLevels.cmake\")
set(tenon_KIT_VERSION ${kit_version})\n")
foreach(name TenonCuda TenonKitLevels)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.cmake ${CMAKE_CURRENT_BINARY_DIR}/${name}.cmake COPYONLY)
endforeach()
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tenonConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tenonConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tenonConfigVersion.cmake
    ${CMAKE_CURRENT_LIST_DIR}/TenonCuda.cmake ${CMAKE_CURRENT_LIST_DIR}/TenonKitLevels.cmake
    DESTINATION ${config_dir})
file(RELATIVE_PATH pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(name tenon tenon-run tenon-kit)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# Everything that is installed, and nothing else.
add_custom_target(install_targets DEPENDS tenon tenon_run_static tenon_kit)
foreach(target tenon_program tenon_check tenon_kernel_bench tenon_isolate tenon_ml tenon_onednn tenon_cuda ${tenon_importers})
    if(TARGET ${target})
        add_dependencies(install_targets ${target})
    endif()
endforeach()
