// printable.hpp: names from files of others, as a terminal may show them.
#pragma once

#include <string>
#include <string_view>

namespace dmlref::tool {

/// The text with blanks for control characters, which a terminal would obey, and "?" for bytes that are no UTF-8.
std::string printable(std::string_view text);

}  // namespace dmlref::tool
