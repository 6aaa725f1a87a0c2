# Windows by Debian's MinGW-w64; programs are static and run in Wine.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_CROSSCOMPILING_EMULATOR wine)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)

# Libraries only of that system; packages may be headers alone (Eigen). Those of the command lie in /usr/include, among
# headers of another C library: DMLREF_TOOL_HEADERS is a folder of links to them.
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
if(DMLREF_TOOL_HEADERS)
  file(MAKE_DIRECTORY ${DMLREF_TOOL_HEADERS})
  foreach(package IN ITEMS nlohmann CLI fmt)
    file(CREATE_LINK /usr/include/${package} ${DMLREF_TOOL_HEADERS}/${package} SYMBOLIC)
  endforeach()
endif()
