# Run at build time, see ../CMakeLists.txt: lets the command print its manual pages and completions, in the folders that an
# installation has them in, below SHARE.
include("${SOURCE_DIR}/cmake/TriremeDate.cmake")
trireme_date(date "%Y-%m-%d")
file(REMOVE_RECURSE "${SHARE}")
file(MAKE_DIRECTORY "${SHARE}/bash-completion/completions" "${SHARE}/${ZSH_FOLDER}" "${SHARE}/fish/vendor_completions.d")
execute_process(COMMAND ${COMMAND} manual --date "${date}" "${SHARE}/man" COMMAND_ERROR_IS_FATAL ANY)
file(GLOB pages "${SHARE}/man/man*/*")
execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
foreach(script bash=bash-completion/completions/trireme zsh=${ZSH_FOLDER}/_trireme
               fish=fish/vendor_completions.d/trireme.fish)
  string(REGEX MATCH "^([^=]+)=(.+)$" script "${script}")
  set(file "${SHARE}/${CMAKE_MATCH_2}")
  execute_process(COMMAND ${COMMAND} completion ${CMAKE_MATCH_1} OUTPUT_FILE "${file}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(TOUCH "${STAMP}")
