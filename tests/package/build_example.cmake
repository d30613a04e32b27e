# SPDX-License-Identifier: Apache-2.0
# cmake -D BUILD=... -D EXAMPLE=... -D RTL=... -D WORK=... -D CXX=... -D LAUNCHER=... -D GENERATOR=... -P build_example.cmake
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

# What is installed beside the program is that of this program.
step("the schema" ${prefix}/bin/weft describe --schema)
file(READ ${prefix}/share/weft/platform.schema.json schema)
if(NOT output STREQUAL schema)
  message(FATAL_ERROR "share/weft/platform.schema.json is not what weft describe --schema prints")
endif()
foreach(file weft/part.schema.json weft/parts/h100-sxm.json man/man1/weft.1 bash-completion/completions/weft
             zsh/site-functions/_weft fish/vendor_completions.d/weft.fish doc/weft/LICENSE doc/weft/README.md doc/weft/docs/README.md)
  if(NOT EXISTS ${prefix}/share/${file})
    message(FATAL_ERROR "share/${file} is not installed")
  endif()
endforeach()
# A platform begun with what is installed runs, and editors find its schema.
step("weft new" ${prefix}/bin/weft new - --from ideal-ring-8)
string(FIND "${output}" "\"$schema\": \"file://${prefix}/share/weft/platform.schema.json\"" at)
if(at EQUAL -1)
  message(FATAL_ERROR "weft new names another schema than the one that is installed:\n${output}")
endif()

step("configuring" ${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${prefix}
                   -D CMAKE_CXX_COMPILER=${CXX})
step("building" ${CMAKE_COMMAND} --build ${WORK}/build)
step("the example" ${CMAKE_COMMAND} -E env SC_COPYRIGHT_MESSAGE=DISABLE ${WORK}/build/example)
message("${output}")

# build_project(FOLDER): builds that of the examples.
function(build_project folder)
  step("configuring ${folder}" ${CMAKE_COMMAND} -S ${EXAMPLE}/${folder} -B ${WORK}/${folder} -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${prefix}
       -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_BUILD_TYPE=Debug)
  step("building ${folder}" ${CMAKE_COMMAND} --build ${WORK}/${folder})
endfunction()

# expect(WHAT WANTED MEMBER ...): a value of the JSON in `output`.
function(expect what wanted)
  string(JSON got GET "${output}" ${ARGN})
  if(NOT got STREQUAL wanted)
    message(FATAL_ERROR "${what}: expected ${wanted}, got ${got}")
  endif()
endfunction()

build_project(collective)
set(small ${EXAMPLE}/collective/small.json)
step("an Allgather of one's own" ${WORK}/collective/my-weft collective ${small} --op all_gather --data --bytes 1000B,64KiB --json)
foreach(row 0 1)
  expect("elements that my-allgather left wrong" 0 rows ${row} wrong)
  expect("what ran" my-allgather rows ${row} algorithm)
endforeach()
step("a training step with it" ${WORK}/collective/my-weft run ${small} --set workload.model=nano --data --json --out ${WORK}/collective/out)
expect("elements of a training step that are wrong" 0 wrong)
expect("the remark of a training step" "reduce_scatter by ring: my-allgather has no such collective" remarks 0)

build_project(schedule)
set(out ${WORK}/schedule/out)
step("a schedule of one's own" ${WORK}/schedule/my-weft run ${EXAMPLE}/schedule/small.json --data --json --out ${out})
expect("the schedule" my-local-sgd workload algorithm)
string(JSON first GET "${output}" losses 0)
string(JSON last GET "${output}" losses 11)
if(NOT last LESS first)
  message(FATAL_ERROR "a schedule of one's own begins with a loss of ${first} and ends with ${last}")
endif()
file(READ ${out}/config.json output)
expect("what the configuration says" 3 values workload.my_local_sgd.interval value)

build_project(workload)
step("a kind of workload of one's own" ${WORK}/workload/my-weft run dgx-h100
     "--set=workload={\"kind\": \"my-steps\", \"steps\": 2}" --json --out ${WORK}/workload/out)
expect("the kind" my-steps workload kind)
string(JSON steps LENGTH "${output}" step_ends_us)
if(NOT steps EQUAL 2 OR NOT EXISTS ${WORK}/workload/out/summary.json)
  message(FATAL_ERROR "expected 2 steps and summary.json, got ${steps} steps")
endif()

build_project(hardware)
set(out ${WORK}/hardware/out)
step("a training step on hardware of one's own" ${WORK}/hardware/my-weft run ${EXAMPLE}/hardware/small.json --data --json --out ${out})
expect("elements that hardware of one's own left wrong" 0 wrong)
foreach(file summary.json links.csv timeline.pftrace.gz config.json)
  if(NOT EXISTS ${out}/${file})
    message(FATAL_ERROR "a run on hardware of one's own writes no ${file}")
  endif()
endforeach()
file(READ ${out}/summary.json output)
string(JSON misses GET "${output}" memory own row_misses)
if(NOT misses GREATER 0)
  message(FATAL_ERROR "open-page has opened no rows")
endif()
string(JSON pages GET "${output}" memory remote_own pages_programmed)
if(NOT pages GREATER 0)
  message(FATAL_ERROR "flash has programmed no pages")
endif()
file(READ ${out}/config.json output)
expect("what the configuration says" my-nic values nic.implementation value)

if(NOT RTL)
  return()
endif()
build_project(rtl)

# all_reduce(IMPLEMENTATION): what an AllReduce takes, in `time`.
function(all_reduce implementation)
  step("an AllReduce with ${implementation}" ${WORK}/rtl/my-weft collective rtl-16 --op all_reduce --type int32 --data --bytes 64KiB --json
       --set fabric.switch.reduction.implementation=${implementation})
  string(JSON wrong GET "${output}" rows 0 wrong)
  if(NOT wrong EQUAL 0)
    message(FATAL_ERROR "${wrong} sums of ${implementation} are wrong")
  endif()
  string(JSON time GET "${output}" rows 0 time_us)
  set(time ${time} PARENT_SCOPE)
endfunction()

# The tree of adders is two cycles deep, seven less than the chain whose latency the model has there.
all_reduce(model)
set(model ${time})
all_reduce(my-lane)
if(NOT time LESS model)
  message(FATAL_ERROR "with my-lane it takes ${time} us, with the model ${model} us")
endif()
message("${time} us with my-lane, ${model} us with the model")

# Turns of inputs or not, an AllToAll moves the same bytes.
step("an AllToAll with my-arbiter" ${WORK}/rtl/my-weft collective rtl-16 --op all_to_all --algorithm dimensions --data --bytes 64KiB --json
     --set fabric.switch.reduction.implementation=model --set fabric.switch.arbiter.implementation=my-arbiter)
string(JSON wrong GET "${output}" rows 0 wrong)
if(NOT wrong EQUAL 0)
  message(FATAL_ERROR "${wrong} elements that passed my-arbiter are wrong")
endif()
