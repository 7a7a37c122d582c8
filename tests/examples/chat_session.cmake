# /save and /load of the chat example, in two processes: -DCHAT=program -DMODEL=tiny model -P chat_session.cmake.
set(session ${CMAKE_CURRENT_BINARY_DIR}/chat.session)
set(input ${CMAKE_CURRENT_BINARY_DIR}/chat.input)
file(REMOVE ${session})

# chat(OUT ERR TEXT): what the program prints when TEXT is typed.
function(chat out err text)
  file(WRITE ${input} "${text}")
  execute_process(COMMAND ${CHAT} ${MODEL} --max-tokens 12 INPUT_FILE ${input}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors TIMEOUT 60)
  if(NOT result EQUAL 0)
    message(SEND_ERROR "chat ended with ${result}:\n${errors}")
  endif()
  set(${out} "${output}" PARENT_SCOPE)
  set(${err} "${errors}" PARENT_SCOPE)
endfunction()

chat(without errors "Hello\n/save ${session}\nAnd then?\n")
chat(with errors "/load ${session}\nAnd then?\n")
if(NOT with STREQUAL "user: Hello\nassistant: ${without}" OR NOT errors MATCHES " [1-9][0-9]* reused")
  message(SEND_ERROR "after /load:\n${with}\n${errors}\nwithout:\n${without}")
endif()
chat(nothing errors "/load ${session}.none\n")
if(NOT errors MATCHES "error: not_found: ")
  message(SEND_ERROR "/load of no file:\n${errors}")
endif()
