// schema_json.hpp: what this library knows of operators, as JSON: docs/schema.json.
#pragma once

#include <span>
#include <string>

#include "model/operator_fields.hpp"

namespace dmlref::tool {

std::string schema_json(std::span<const OperatorFields> known = operators());

}  // namespace dmlref::tool
