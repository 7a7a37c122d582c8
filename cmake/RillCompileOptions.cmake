# One INTERFACE target carries the flags of every target that is built here; nothing of it reaches a consumer.
add_library(rill_compile_options INTERFACE)
target_compile_features(rill_compile_options INTERFACE cxx_std_20)

if(RILL_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(MSVC)
  target_compile_options(rill_compile_options INTERFACE /W4 /fp:precise /utf-8 $<$<BOOL:${RILL_WERROR}>:/WX>)
else()
  # -ffp-contract=off: a multiply and an add are fused only where the code says so, or the bits would differ by compiler.
  target_compile_options(rill_compile_options INTERFACE
    -Wall -Wextra -Wconversion -ffp-contract=off $<$<BOOL:${RILL_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # What GCC guesses after inlining differs from version to version and is often wrong, so it does not end a build.
    target_compile_options(rill_compile_options INTERFACE
      -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=maybe-uninitialized)
  endif()
endif()

if(RILL_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang OR NOT RILL_SANITIZE MATCHES address)
    message(FATAL_ERROR "RILL_BUILD_FUZZERS needs Clang and RILL_SANITIZE=address,undefined")
  endif()
  target_compile_options(rill_compile_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(rill_compile_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(RILL_SANITIZE)
  target_compile_options(rill_compile_options INTERFACE
    -fsanitize=${RILL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(rill_compile_options INTERFACE -fsanitize=${RILL_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(rill_compile_options INTERFACE -Wno-maybe-uninitialized)  # the added code confuses it
  endif()
endif()
