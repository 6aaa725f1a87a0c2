// schema_json.hpp: what this library knows of operators, as JSON: docs/schema.json.
#pragma once

#include <string>

namespace dmlref::tool {

std::string schema_json();

}  // namespace dmlref::tool
