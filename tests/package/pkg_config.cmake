# cmake -DPKG_CONFIG= -DCOMPILER= -DPREFIX= -DLIBDIR= -DSOURCE= -DOUT= -P: compiles, links and runs SOURCE with nothing but the
# flags that pkg-config gives, asked for with and without --static.
set(ENV{PKG_CONFIG_PATH} "${PREFIX}/${LIBDIR}/pkgconfig")
set(ENV{LD_LIBRARY_PATH} "${PREFIX}/${LIBDIR}")
foreach(static "" --static)
  execute_process(COMMAND "${PKG_CONFIG}" ${static} --cflags --libs rill
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute_process(COMMAND "${COMPILER}" -std=c++20 "${SOURCE}" -o "${OUT}" ${flags} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${OUT}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND "${PKG_CONFIG}" --atleast-version=0.1.0 rill COMMAND_ERROR_IS_FATAL ANY)
