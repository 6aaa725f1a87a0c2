// units.hpp: what a translation unit of this program tells about itself.
#pragma once

struct Unit {
  const char* name;
  const char* abi;  // the name of the library's inline namespace there
  bool (*run)();
};
