// report.hpp: an explanation as text for people and as JSON for programs.
#pragma once

#include <string>
#include <string_view>

#include "explain/explanation.hpp"

namespace dmlref::tool {

/// Lines; `name` is the dispatchable's.
std::string to_text(const Explanation& explanation, std::string_view name);
/// Indented by two.
std::string to_json_text(const Explanation& explanation, std::string_view name);

}  // namespace dmlref::tool
