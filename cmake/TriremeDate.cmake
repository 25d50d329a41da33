# trireme_date(<variable> <format>)
#   The date that generated files carry, by string(TIMESTAMP), in UTC: of SOURCE_DATE_EPOCH, else of the last commit, else
#   today. The same sources give the same files.
function(trireme_date variable format)
  if("$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
    execute_process(COMMAND git -C "${CMAKE_CURRENT_FUNCTION_LIST_DIR}" log -1 --format=%ct
      OUTPUT_VARIABLE epoch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
    if(status EQUAL 0 AND NOT epoch STREQUAL "")
      set(ENV{SOURCE_DATE_EPOCH} "${epoch}")
    endif()
  endif()
  string(TIMESTAMP date "${format}" UTC)
  set(${variable} "${date}" PARENT_SCOPE)
endfunction()
