# An overlay port: it builds the checkout that it stands in. `vcpkg install dmlref --overlay-ports=packaging/vcpkg`
get_filename_component(source "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT "compiled" IN_LIST FEATURES)
  set(VCPKG_BUILD_TYPE release)  # headers alone: nothing differs for debugging
endif()
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES compiled DMLREF_INSTALL_COMPILED)
vcpkg_cmake_configure(SOURCE_PATH "${source}" OPTIONS
  -DDMLREF_INSTALL=ON -DDMLREF_BUILD_TESTS=OFF -DDMLREF_BUILD_TOOLS=OFF -DDMLREF_BUILD_BENCH=OFF ${features})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/dmlref)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/dmlref")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
