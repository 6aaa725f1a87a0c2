# What is installed, in two components: `development`, the library, and `command`. docs/packaging.md
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dmlref)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dmlref TYPE INCLUDE COMPONENT development FILES_MATCHING PATTERN *.hpp)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE TYPE DOC COMPONENT development)
install(TARGETS dmlref EXPORT dmlref-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT dmlref-targets NAMESPACE dmlref:: DESTINATION ${package_dir} COMPONENT development)

# Headers alone suit any architecture.
set(architecture ARCH_INDEPENDENT)
if(DMLREF_INSTALL_COMPILED)
  set(architecture)
  install(TARGETS dmlref_compiled EXPORT dmlref-compiled-targets ARCHIVE COMPONENT development)
  install(EXPORT dmlref-compiled-targets NAMESPACE dmlref:: DESTINATION ${package_dir} COMPONENT development)
endif()
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/dmlref-config-version.cmake COMPATIBILITY SameMinorVersion ${architecture})
install(FILES ${PROJECT_SOURCE_DIR}/cmake/dmlref-config.cmake ${PROJECT_BINARY_DIR}/dmlref-config-version.cmake
        DESTINATION ${package_dir} COMPONENT development)

# For pkg-config: as the package may be moved, the prefix is said from where the files are.
file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(pkg_config_definitions "")
if(DMLREF_TARGETS)
  set(pkg_config_definitions " -DDMLREF_TARGETS=${DMLREF_TARGETS}")
endif()
set(pkg_config_names dmlref)
if(DMLREF_INSTALL_COMPILED)
  list(APPEND pkg_config_names dmlref-compiled)
endif()
foreach(name IN LISTS pkg_config_names)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

# `cpack -G DEB` makes libdmlref-dev.
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_COMPONENTS_ALL development)
  set(CPACK_PACKAGE_CONTACT "dmlref maintainers")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION} (headers and static library)")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libdmlref-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEVELOPMENT_FILE_NAME DEB-DEFAULT)
  include(CPack)
endif()
