#include "support/text_table.hpp"

#include <algorithm>

namespace dmlref::tool {

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    if (widths.size() < row.size()) widths.resize(row.size());
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = (std::max)(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::size_t blanks = widths[c] - row[c].size();
      if (c != 0) text.append(blanks + 2, ' ');
      text += row[c];
      if (c == 0 && row.size() > 1) text.append(blanks, ' ');
    }
    text += '\n';
  }
  return text;
}

}  // namespace dmlref::tool
