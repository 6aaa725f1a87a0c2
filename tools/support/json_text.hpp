// json_text.hpp: JSON that people read.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dmlref::tool {

/// Whose members keep the order in which they were made: what the command writes.
using OrderedJson = nlohmann::ordered_json;

/// Objects and arrays of the first `levels` levels on lines of their own, what is below them on one line. `indent`
/// stands before the last line, and two more blanks before each other one but the first.
std::string json_text(const OrderedJson& json, std::size_t levels, const std::string& indent = "");

}  // namespace dmlref::tool
