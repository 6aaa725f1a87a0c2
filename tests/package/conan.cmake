# The recipe for Conan, with Conan's modules played by conan_stand_in.py: Conan itself is not in Debian.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
needs(python3)
step(python3 ${CMAKE_CURRENT_LIST_DIR}/conan_stand_in.py ${SOURCE} ${WORK} ${version} ${common})
message("not checked: the recipe in Conan itself, which is not in Debian; its option compiled=True")
