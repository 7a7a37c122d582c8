# The verify example end to end: -DVERIFY=program -DMODEL=tiny model -DOTHER_MODEL=of other weights -P verify.cmake.
set(record ${CMAKE_CURRENT_BINARY_DIR}/record.txt)
set(changed ${CMAKE_CURRENT_BINARY_DIR}/changed.txt)

# expect(CODE PATTERN ARGUMENTS...): exit code, and what stands in the output.
function(expect code pattern)
  execute_process(COMMAND ${VERIFY} ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 60)
  if(NOT result STREQUAL code OR NOT output MATCHES "${pattern}")
    message(SEND_ERROR "verify ${ARGN}: exit code ${result}, expected ${code} and \"${pattern}\"\n${output}")
  endif()
endfunction()
# expect_changed(CODE PATTERN FROM TO [RECORD]): against the record in which a regular expression is replaced.
function(expect_changed code pattern from to)
  set(original ${record} ${ARGN})
  list(GET original -1 original)
  file(READ ${original} text)
  string(REGEX REPLACE "${from}" "${to}" other "${text}")
  if(other STREQUAL text)
    message(SEND_ERROR "the record holds no ${from}:\n${text}")
  endif()
  file(WRITE ${changed} "${other}")
  expect(${code} "${pattern}" ${MODEL} --against ${changed})
endfunction()

file(REMOVE ${record})
expect(0 "model [0-9a-f]+\n.*step [0-9]+ [0-9a-f]+\n.*same +batch of 8\n.*same +target scalar\n1[0-9] comparisons, 0 different" ${MODEL} --output ${record})
expect(0 "same +${record} \\(rill [0-9.]+, target [a-z0-9_]+\\)\n" ${MODEL} --against ${record})
expect_changed(0 "elsewhere\\)\n.* 0 different" "machine [^\n]+" "machine elsewhere")
expect_changed(0 " 0 different" "\n" "\r\n")

# A difference.
expect_changed(1 "DIFFERENT [^\n]*: step 8 is [0-9]+ 0123456789abcdef there\n.* 1 different" "[0-9a-f]+\n$" "0123456789abcdef\n")
expect_changed(1 "numerics_version is 999 there" "numerics_version [0-9]+" "numerics_version 999")
expect_changed(1 "model is 0 there" "model [0-9a-f]+" "model 0")
expect(1 "kv is f16 there" ${MODEL} --against ${record} --kv f32)
expect(1 "activations is fast there" ${MODEL} --against ${record} --activations accurate)

# A model of the same shape with other weights: named by its digest, and by its first step if that were the same.
set(other_record ${CMAKE_CURRENT_BINARY_DIR}/other_record.txt)
file(REMOVE ${other_record})
expect(0 " 0 different" ${OTHER_MODEL} --output ${other_record})
expect(1 "DIFFERENT [^\n]*: model is [0-9a-f]+ there\n.* 1 different" ${MODEL} --against ${other_record})
file(READ ${record} text)
string(REGEX MATCH "model [0-9a-f]+" model "${text}")
expect_changed(1 "DIFFERENT [^\n]*: step 1 is [0-9]+ [0-9a-f]+ there\n.* 1 different"
  "model [0-9a-f]+" "${model}" ${other_record})

# Not a record.
string(ASCII 27 escape)
expect_changed(2 "line 1: expected \"rill_bits\"" "^rill_bits" "bits")
expect_changed(2 "line 1: expected version 1" "^rill_bits 1" "rill_bits 2")
expect_changed(2 "line 5: expected \"model\"" "\nmodel" "\nModel")
expect_changed(2 "line 2: expected \"machine\"" "machine " "machine ${escape}[31m")
expect_changed(2 "line 16: expected \"step\"" "step [^\n]+\n$" "")
expect_changed(2 "line 16: expected a token" "[0-9a-f]\n$" "\n")
expect_changed(2 "line 16: expected a token" "[0-9a-f]\n$" "x\n")
expect_changed(2 "line 17: expected the end" "\n$" "\nstep 1 0123456789abcdef\n")
string(REPEAT "0123456789" 1000 long)
expect_changed(2 "longer than any record" "\n$" "${long}")
file(WRITE ${changed} "")
expect(2 "empty" ${MODEL} --against ${changed})
expect(2 "nowhere.txt" ${MODEL} --against nowhere.txt)

# Not a question.
expect(2 "usage")
expect(2 "usage" ${MODEL} --against)
expect(2 "usage" ${MODEL} --kv f64)
expect(2 "usage" ${MODEL} --activations slow)
foreach(prompt "" 1 -5 12x 99999999999999999999)
  expect(2 "usage" ${MODEL} --prompt "${prompt}")
endforeach()
expect(2 "context of 4096" ${MODEL} --prompt 1000000000000)
expect(2 "not_found" nowhere.gguf)
expect(2 "could not be written" ${MODEL} --output ${CMAKE_CURRENT_BINARY_DIR})
