#include "support/json_text.hpp"

#include <nlohmann/json.hpp>

namespace dmlref::tool {
namespace {

void print(const OrderedJson& json, std::size_t levels, std::string indent, std::string& text) {
  if (levels == 0 || !json.is_structured() || json.empty()) {
    text += json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    return;
  }
  text += json.is_object() ? "{\n" : "[\n";
  indent += "  ";
  bool first = true;
  for (const auto& item : json.items()) {
    if (!first) text += ",\n";
    first = false;
    text += indent;
    if (json.is_object()) text += OrderedJson(item.key()).dump() + ": ";
    print(item.value(), levels - 1, indent, text);
  }
  indent.resize(indent.size() - 2);
  text += "\n" + indent + (json.is_object() ? "}" : "]");
}

}  // namespace

std::string json_text(const OrderedJson& json, std::size_t levels, const std::string& indent) {
  std::string text;
  print(json, levels, indent, text);
  return text;
}

}  // namespace dmlref::tool
