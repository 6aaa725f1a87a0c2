# find_package(dmlref) gives dmlref::dmlref, the headers; with COMPONENTS compiled, dmlref::compiled, too: a static
# library of the kernels, whose users compile with DMLREF_SEPARATE.
include(${CMAKE_CURRENT_LIST_DIR}/dmlref-targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/dmlref-compiled-targets.cmake OPTIONAL)
foreach(component IN LISTS dmlref_FIND_COMPONENTS)
  if(TARGET dmlref::${component})
    set(dmlref_${component}_FOUND TRUE)
  elseif(dmlref_FIND_REQUIRED_${component})
    set(dmlref_FOUND FALSE)
    set(dmlref_NOT_FOUND_MESSAGE "dmlref was installed without ${component}")
  endif()
endforeach()
