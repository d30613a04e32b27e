# SPDX-License-Identifier: Apache-2.0
# cmake -D BUILD=... -D EXAMPLE=... -D WORK=... -D CXX=... -D GENERATOR=... -P build_example.cmake
set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${WORK})

# step(WHAT COMMAND ...): runs a command; its output is shown if it fails, and is in `output` afterwards.
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what} failed with ${result}:\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

step("installing" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

# What is installed must not lean on the tree that it was built from, nor on how Weft's own code is compiled.
file(GLOB exported ${prefix}/lib*/cmake/weft/*.cmake ${prefix}/lib*/*/cmake/weft/*.cmake)
if(NOT exported)
  message(FATAL_ERROR "no CMake package below ${prefix}")
endif()
foreach(file IN LISTS exported)
  file(READ ${file} text)
  foreach(leak "weft_flags" "-Werror" "${BUILD}")
    string(FIND "${text}" "${leak}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} mentions ${leak}")
    endif()
  endforeach()
endforeach()

step("configuring" ${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${prefix}
                   -D CMAKE_CXX_COMPILER=${CXX})
step("building" ${CMAKE_COMMAND} --build ${WORK}/build)
step("the example" ${CMAKE_COMMAND} -E env SC_COPYRIGHT_MESSAGE=DISABLE ${WORK}/build/example)
message("${output}")
