#include "support/nearest.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace dmlref::tool {
namespace {

std::string plain(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Edits between two words, of neighbouring letters exchanged too (optimal string alignment).
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = (std::min)({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = (std::min)(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> names) {
  constexpr std::size_t longest = 40;  // no name has as many letters
  if (word.size() > longest) return {};
  std::string found;
  std::size_t least = 1 + (std::max)(std::size_t{1}, word.size() / 3);
  for (const std::string& name : names) {
    const std::size_t distance = edits(plain(word), plain(name));
    if (distance >= least) continue;
    least = distance;
    found = name;
  }
  return found;
}

}  // namespace dmlref::tool
