# What `cmake --install` (and `make install PREFIX=`) puts into a prefix: the library, its headers, the trireme
# command, and the files by which find_package(trireme) and pkg-config find them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TRIREME_CONFIG_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/trireme")

install(TARGETS trireme EXPORT trireme-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT trireme-targets NAMESPACE trireme:: DESTINATION "${TRIREME_CONFIG_DIR}")
if(TARGET trireme_command)
  install(TARGETS trireme_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
if(TARGET trireme_omp)  # loaded by `trireme exec`, never linked
  install(TARGETS trireme_omp trireme_omp_virtual LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET trireme_mpi_slack)  # loaded beside it
  install(TARGETS trireme_mpi_slack LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
foreach(mpi IN LISTS TRIREME_MPI_ABIS)
  if(TARGET trireme_wire_${mpi})  # loaded by programs whose wire is MPI; no part of builds with sanitizers
    install(TARGETS trireme_wire_${mpi} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
  if(TARGET trireme_mpi_${mpi})  # loaded by `trireme exec`; no part of builds with sanitizers
    install(TARGETS trireme_mpi_${mpi} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
endforeach()
if(TARGET trireme_bench_openmp)  # loaded by `trireme bench loops`
  install(TARGETS trireme_bench_openmp LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()

# The public headers hold templates, which include headers of the layers ("sched/pe.hpp"): those go beside them into a
# folder of their own that is on the include path of trireme::trireme.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/trireme" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/trireme/internal"
  FILES_MATCHING PATTERN "*.hpp")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/trireme-config.cmake.in"
  "${PROJECT_BINARY_DIR}/trireme-config.cmake" INSTALL_DESTINATION "${TRIREME_CONFIG_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/trireme-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/trireme-config.cmake" "${PROJECT_BINARY_DIR}/trireme-config-version.cmake"
  DESTINATION "${TRIREME_CONFIG_DIR}")

# The prefix is written relative to the .pc file, so an installed tree can be moved.
file(RELATIVE_PATH TRIREME_PC_TO_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file("${CMAKE_CURRENT_LIST_DIR}/trireme.pc.in" "${PROJECT_BINARY_DIR}/trireme.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/trireme.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
