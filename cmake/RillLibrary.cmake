# rill_add_library(objects...): the target `rill` out of compiled objects, static or shared as BUILD_SHARED_LIBS says. Apart
# from src/ because the package tests make the other kind of library from the same objects.
function(rill_add_library)
  add_library(rill ${ARGN})
  add_library(rill::rill ALIAS rill)
  target_compile_features(rill PUBLIC cxx_std_20)
  target_include_directories(rill PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(rill PRIVATE Threads::Threads Utf8proc::Utf8proc)
  # Before 1.0 a minor version may change the ABI, so it names the library.
  set_target_properties(rill PROPERTIES
    LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(BUILD_SHARED_LIBS)
    target_compile_definitions(rill PUBLIC RILL_SHARED)
    if(UNIX AND NOT APPLE)
      # What is hidden stays hidden; beyond that, templates of the standard library instantiated here are no part of the ABI.
      set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/rill.map)
      target_link_options(rill PRIVATE "LINKER:--version-script=${script}")
      if(NOT RILL_SANITIZE)  # whose run-time library Clang leaves to the program
        target_link_options(rill PRIVATE LINKER:--no-undefined)
      endif()
      set_target_properties(rill PROPERTIES LINK_DEPENDS ${script})
    endif()
  endif()
endfunction()
