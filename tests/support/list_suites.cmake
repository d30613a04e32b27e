# SPDX-License-Identifier: Apache-2.0
# cmake -D NAME= -D EXECUTABLE= -D WITHOUT= -D LABEL= -D FOLDER= -D OUTPUT= -P list_suites.cmake: writes to OUTPUT, for ctest, a
# test NAME.SUITE for each suite of EXECUTABLE, without the tests WITHOUT, as the second part of a --gtest_filter gives them.
execute_process(COMMAND ${EXECUTABLE} --gtest_list_tests "--gtest_filter=*${WITHOUT}" OUTPUT_VARIABLE tests
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[^ .\n]+[.]" suites "${tests}")  # their tests' lines begin with spaces
set(lines "")
foreach(suite ${suites})
  string(REGEX REPLACE "[\n.]" "" suite ${suite})
  string(APPEND lines "add_test([=[${NAME}.${suite}]=] [=[${EXECUTABLE}]=] [=[--gtest_filter=${suite}.*${WITHOUT}]=])\n"
                      "set_tests_properties([=[${NAME}.${suite}]=] PROPERTIES LABELS ${LABEL} TIMEOUT 600 WORKING_DIRECTORY [=[${FOLDER}]=])\n")
endforeach()
file(WRITE ${OUTPUT} "${lines}")
