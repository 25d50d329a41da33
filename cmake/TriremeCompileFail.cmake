# Run by ctest for trireme_compile_fail_test: compiles SOURCE (syntax only) and demands that it is refused with a
# message that matches EXPECT, in at most 30 lines. A file that compiles, or that fails for another reason, fails the test.
cmake_minimum_required(VERSION 3.25)
foreach(variable COMPILER FLAGS_FILE SOURCE EXPECT)
  if(NOT DEFINED ${variable})
    message(FATAL_ERROR "TriremeCompileFail.cmake needs -D${variable}=")
  endif()
endforeach()
execute_process(COMMAND "${COMPILER}" "@${FLAGS_FILE}" "${SOURCE}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
# Lines that begin with a blank are printed as they are; others CMake fills anew, at places that depend on the length of the path.
string(REPLACE "\n" "\n " said " ${output}")
if(status EQUAL 0)
  message(FATAL_ERROR " ${SOURCE} compiles, but it must be refused with a message matching '${EXPECT}'")
elseif(NOT output MATCHES "${EXPECT}")
  message(FATAL_ERROR " ${SOURCE} is refused, but no message matches '${EXPECT}'. The compiler said:\n${said}")
endif()
# A message that one has to scroll for is not read.
string(REGEX MATCHALL "\n" ends "${output}")
list(LENGTH ends lines)
if(lines GREATER 30)
  message(FATAL_ERROR " ${SOURCE} is refused in ${lines} lines; at most 30 are read. The compiler said:\n${said}")
endif()
string(REGEX MATCH "${EXPECT}" matched "${output}")
message(STATUS "refused as it should be: ${matched}")
