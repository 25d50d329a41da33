# Run by cpack between staging the files and making packages of them; sets what the package trireme depends on.
#
# CPACK_DEBIAN_PACKAGE_SHLIBDEPS cannot be used: it would make the package depend on Open MPI and on MPICH, which the two
# plug-ins of wires link. Each is loaded only by programs that a launcher of that MPI has started, so its library is there;
# who uses one MPI, or none, is not to install the other. Both are Suggests, and dpkg-shlibdeps puts them there; HDF5, too.
set(root "${CPACK_TEMPORARY_DIRECTORY}/runtime")
file(GLOB_RECURSE wires "${root}/*/libtrireme-wire-*.so" "${root}/*/libtrireme-hdf5.so")
file(GLOB_RECURSE files "${root}/*/bin/*" "${root}/*/*.so")
list(REMOVE_ITEM files ${wires})
if(NOT files)
  message(FATAL_ERROR "packaging/debian/depends.cmake: no programs or libraries below ${root}")
endif()

# dpkg-shlibdeps wants to stand in a folder of sources.
set(work "${CPACK_TEMPORARY_DIRECTORY}/shlibdeps")
file(WRITE "${work}/debian/control" "Source: trireme\n\nPackage: trireme\nArchitecture: any\n")
execute_process(COMMAND dpkg-shlibdeps -O --warnings=0 -dDepends ${files} -dSuggests ${wires}
  WORKING_DIRECTORY "${work}" OUTPUT_VARIABLE found ERROR_VARIABLE complaints RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "dpkg-shlibdeps ended with ${status}:\n${complaints}")
endif()
foreach(field Depends Suggests)
  if(found MATCHES "shlibs:${field}=([^\n]+)")
    set(${field} "${CMAKE_MATCH_1}")
  endif()
endforeach()

# What is loaded by name, and therefore no dependency that a tool sees: UCX for jobs on several hosts, PMIx under the
# launchers of Open MPI and Slurm. The package of a library is named otherwise in other releases, so dpkg is asked.
foreach(library libucp.so.0 libpmix.so.2)
  execute_process(COMMAND dpkg-query --search "*/${library}" OUTPUT_VARIABLE owner COMMAND_ERROR_IS_FATAL ANY)
  if(NOT owner MATCHES "^([^:, ]+)")
    message(FATAL_ERROR "packaging/debian/depends.cmake: dpkg does not say which package has ${library}: ${owner}")
  endif()
  string(APPEND Depends ", ${CMAKE_MATCH_1}")
endforeach()

set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "${Depends}")
# libsodium is loaded for jobs that ask for --tri-wire-authentication, METIS for the strategy `partition`; both are named
# when they are missing.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "${Suggests}, openmpi-bin, mpich, libsodium23, libmetis5, libtrireme-dev (= ${CPACK_PACKAGE_VERSION})")
