# SPDX-License-Identifier: Apache-2.0
# cmake -D NAME= -D EXECUTABLE= -D WITHOUT= -D ONLY= -D LABEL= -D FOLDER= -D OUTPUT= -P list_suites.cmake: writes to OUTPUT, for
# ctest, a test NAME.SUITE for each suite of EXECUTABLE: of all of its tests, or of those that ONLY lists; and without those that
# WITHOUT lists. Both are as --gtest_filter takes them. A suite of ONLY that EXECUTABLE has not is an error.
set(filter "*")
if(ONLY)
  set(filter ${ONLY})
endif()
set(without "")
if(WITHOUT)
  set(without "-${WITHOUT}")
endif()
execute_process(COMMAND ${EXECUTABLE} --gtest_list_tests "--gtest_filter=${filter}${without}" OUTPUT_VARIABLE tests
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[^ .\n]+[.]" suites "${tests}")  # their tests' lines begin with spaces
string(REPLACE ":" ";" patterns "${ONLY}")
foreach(pattern ${patterns})
  string(REGEX REPLACE "[.].*" "" suite ${pattern})
  if(NOT "\n${tests}" MATCHES "\n${suite}[.]")
    message(FATAL_ERROR "${NAME} has no test ${pattern}")
  endif()
endforeach()
set(lines "")
foreach(suite ${suites})
  string(REGEX REPLACE "[\n.]" "" suite ${suite})
  set(filter "${suite}.*")
  if(ONLY)
    set(filter ${patterns})
    list(FILTER filter INCLUDE REGEX "^${suite}[.]")
    list(JOIN filter ":" filter)
  endif()
  string(APPEND lines "add_test([=[${NAME}.${suite}]=] [=[${EXECUTABLE}]=] [=[--gtest_filter=${filter}${without}]=])\n"
                      "set_tests_properties([=[${NAME}.${suite}]=] PROPERTIES LABELS ${LABEL} TIMEOUT 600 WORKING_DIRECTORY [=[${FOLDER}]=])\n")
endforeach()
file(WRITE ${OUTPUT} "${lines}")
