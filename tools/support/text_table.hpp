// text_table.hpp: rows of cells as aligned text.
#pragma once

#include <string>
#include <vector>

namespace dmlref::tool {

/// A line a row, columns two blanks apart, the first aligned to the left, the others to the right. Rows may have fewer
/// cells than others.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace dmlref::tool
