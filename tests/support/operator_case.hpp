// operator_case.hpp: a random problem of any operator, and its call.
#pragma once

#include <cstddef>
#include <vector>

#include "dmlref/run/one_operator.hpp"

namespace dmlref::test {

/// A descriptor, its inputs in the order of the document, and an output filled with a pattern.
template <class Desc>
struct OperatorCase {
  Desc desc;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::byte> output;
};

/// Writes to `output`.
template <class Desc>
Report run_case(const OperatorCase<Desc>& c, std::vector<std::byte>& output, const RunOptions& options = {}) {
  const std::vector<InputBuffer> inputs(c.inputs.begin(), c.inputs.end());
  const OutputBuffer outputs[] = {output};
  return run(c.desc, latest_feature_level, inputs, outputs, options);
}

/// Whether an instruction set makes the expected output.
template <class Desc>
bool is_right(const OperatorCase<Desc>& c, Isa isa) {
  std::vector<std::byte> output = c.output;
  RunOptions options;
  options.isa = isa;
  return run_case(c, output, options).ok() && output == expected_output(c);
}

}  // namespace dmlref::test
