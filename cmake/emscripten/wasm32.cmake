# WebAssembly by Debian's Emscripten. Exceptions are JavaScript's; one thread.
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)

set(CMAKE_CXX_FLAGS_INIT "-fexceptions -include ${CMAKE_CURRENT_LIST_DIR}/libcxx13.hpp")
set(CMAKE_EXE_LINKER_FLAGS_INIT -fexceptions)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)

# The command's libraries that are headers alone lie in /usr/include, among headers of another C library.
if(DMLREF_TOOL_HEADERS)
  file(MAKE_DIRECTORY ${DMLREF_TOOL_HEADERS})
  foreach(package IN ITEMS nlohmann CLI fmt)
    file(CREATE_LINK /usr/include/${package} ${DMLREF_TOOL_HEADERS}/${package} SYMBOLIC)
  endforeach()
endif()
