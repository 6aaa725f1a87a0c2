#include "explain/operators.hpp"

#include <string>

#include "support/failure.hpp"

namespace dmlref::tool {

std::vector<std::uint32_t> output_sizes(const DML_OPERATOR_DESC& desc) {
  const std::optional<OperatorDesc> value = dmlref::detail::read_directml(desc);
  if (!value) return {};
  return std::visit([](const auto& known) { return known.output.sizes; }, *value);
}

Explanation explain(const DML_OPERATOR_DESC& desc, std::span<const InputBuffer> inputs, std::span<const Index> element,
                    std::size_t most) {
  const std::optional<OperatorDesc> value = dmlref::detail::read_directml(desc);
  if (!value) return {};
  const Coordinates at = Coordinates::from(element);
  return std::visit(
      [&]<class Desc>(const Desc& known) -> Explanation {
        if constexpr (requires { explain(known, inputs, at); }) {
          return explain(known, inputs, at);
        } else if constexpr (requires { explain(known, inputs, at, most); }) {
          return explain(known, inputs, at, most);
        } else {
          throw Failure(std::string(Schema<Desc>::info.name), "has no explanation yet");
        }
      },
      *value);
}

}  // namespace dmlref::tool
