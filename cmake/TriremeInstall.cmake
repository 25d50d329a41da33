# What `cmake --install` (and `make install PREFIX=`) puts into a prefix: the library, its headers, the trireme
# command, and the files by which find_package(trireme) and pkg-config find them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TRIREME_CONFIG_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/trireme")

# Two components, which cpack makes into packages: what programs need to run, and what it takes to build them.
set(installed_library trireme)
if(BUILD_SHARED_LIBS)
  set(installed_library trireme_shared)
endif()
install(TARGETS ${installed_library} EXPORT trireme-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development)
install(EXPORT trireme-targets NAMESPACE trireme:: DESTINATION "${TRIREME_CONFIG_DIR}" COMPONENT development)
install(TARGETS trireme_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
# Loaded at run time and never linked, so in a folder that no linker searches: the drop-ins by `trireme exec`, the wires by
# programs whose wire is MPI or that use files of HDF5, what is measured by `trireme bench`. What a build leaves out is in
# cmake/TriremeDependencies.cmake.
#
# Building the target installed_parts builds all that is installed, and nothing else.
add_custom_target(installed_parts DEPENDS ${installed_library} trireme_command)
foreach(plug_in omp omp_virtual mpi_slack bench_openmp mpi_openmpi mpi_mpich mpi_standard wire_openmpi wire_mpich hdf5)
  if(TARGET trireme_${plug_in})
    install(TARGETS trireme_${plug_in} LIBRARY DESTINATION "${TRIREME_PLUG_IN_DIR}" COMPONENT runtime)
    add_dependencies(installed_parts trireme_${plug_in})
  endif()
endforeach()
if(TARGET trireme_share)
  install(DIRECTORY "${CMAKE_BINARY_DIR}/share/" DESTINATION "${CMAKE_INSTALL_DATADIR}" COMPONENT runtime)
  add_dependencies(installed_parts trireme_share)
endif()

# What programs are compiled against is below include/, all of it (tests/build/installed_headers.py); no header of src/ is.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/trireme" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/trireme-config.cmake.in"
  "${PROJECT_BINARY_DIR}/trireme-config.cmake" INSTALL_DESTINATION "${TRIREME_CONFIG_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/trireme-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/trireme-config.cmake" "${PROJECT_BINARY_DIR}/trireme-config-version.cmake"
  DESTINATION "${TRIREME_CONFIG_DIR}" COMPONENT development)

# The prefix is written relative to the .pc file, so an installed tree can be moved.
file(RELATIVE_PATH TRIREME_PC_TO_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
# So programs are told where its plug-ins are, save those of the system, which is not moved.
set(TRIREME_PC_RPATH "")
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(TRIREME_PC_RPATH " -Wl,-rpath,\${libdir}/trireme")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/trireme.pc.in" "${PROJECT_BINARY_DIR}/trireme.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/trireme.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)

include(TriremePackages)
