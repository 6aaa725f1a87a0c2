// nearest.hpp: which of the known names was meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dmlref::tool {

/// The name that fewest typing errors turn into `word`: a letter more, fewer, another, or two exchanged; case and
/// whether it is '-' or '_' do not count. Empty where none is near.
std::string nearest(std::string_view word, std::span<const std::string> names);

}  // namespace dmlref::tool
