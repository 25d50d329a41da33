# What `cpack` makes of the two components of TriremeInstall.cmake, in a build folder of the preset `deb` (`make deb`): the
# Debian packages trireme and libtrireme-dev. What they depend on is found out when they are made (packaging/debian/depends.cmake),
# so they suit the release of Debian or Ubuntu that they are made on.
include("${CMAKE_CURRENT_LIST_DIR}/TriremeDate.cmake")
# The project has no public address yet; who publishes packages names theirs.
set(TRIREME_MAINTAINER "Trireme maintainers <maintainers@trireme.invalid>" CACHE STRING "maintainer of the packages: Name <address>")
set(TRIREME_HOMEPAGE "" CACHE STRING "home page that the packages name")

# Documents that Debian asks of each package. No part of other installations.
set(debian "${PROJECT_BINARY_DIR}/debian")
trireme_date(date "%a, %d %b %Y %H:%M:%S +0000")
trireme_date(TRIREME_YEAR "%Y")
configure_file("${PROJECT_SOURCE_DIR}/packaging/debian/copyright.in" "${debian}/copyright" @ONLY)
file(WRITE "${debian}/changelog" "trireme (${PROJECT_VERSION}) unstable; urgency=medium\n\n"
  "  * What is new to users is in CHANGELOG.md.gz in this folder.\n\n -- ${TRIREME_MAINTAINER}  ${date}\n")
configure_file("${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${debian}/CHANGELOG.md" COPYONLY)
find_program(TRIREME_GZIP gzip REQUIRED)
foreach(document changelog CHANGELOG.md)
  execute_process(COMMAND "${TRIREME_GZIP}" -9nkf "${debian}/${document}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(component_and_package runtime=trireme development=libtrireme-dev)
  string(REPLACE "=" ";" component_and_package ${component_and_package})
  list(GET component_and_package 0 component)
  list(GET component_and_package 1 package)
  install(FILES "${debian}/copyright" "${debian}/changelog.gz" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  string(TOUPPER ${component} COMPONENT)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME ${package})
endforeach()
install(FILES "${debian}/CHANGELOG.md.gz" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/trireme" COMPONENT runtime EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME trireme)
set(CPACK_PACKAGE_VENDOR "Trireme maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # it would stand before the first line of each package's own
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${TRIREME_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "${TRIREME_HOMEPAGE}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION net)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "parallel runtime: launcher, MPI and OpenMP drop-ins
Trireme is a parallel runtime in C++20: message-driven objects, parallel loops,
and libraries that accelerate existing programs inside a host.
.
This package has the command trireme, which starts object programs on one or
several hosts and runs unmodified MPI programs (Open MPI, MPICH) and OpenMP
programs with messages and loop schedules of its own; the libraries that it
puts before these programs; and the plug-ins by which object programs send
messages over an MPI library.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "parallel runtime: library and headers for C++20 programs
Trireme is a parallel runtime in C++20: message-driven objects, parallel loops,
and libraries that accelerate existing programs inside a host.
.
This package has the static library, its headers, and what find_package of
CMake and pkg-config need to use it.")
# What the configuration for CMake and pkg-config looks for when a program is built (trireme-config.cmake.in, trireme.pc.in).
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "trireme (= ${PROJECT_VERSION}), libfmt-dev, libhwloc-dev, pkg-config")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "cmake (>= 3.25), g++ (>= 4:12)")
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/packaging/debian/depends.cmake")
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_BINARY_DIR}/cpack_date.cmake")
trireme_date(epoch "%s")
file(WRITE "${CPACK_PROJECT_CONFIG_FILE}" "set(ENV{SOURCE_DATE_EPOCH} ${epoch})  # the times of files in the packages\n")
include(CPack)
