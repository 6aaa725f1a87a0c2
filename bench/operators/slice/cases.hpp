// cases.hpp: one window with data and the right answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "support/case.hpp"
#include "support/memory.hpp"
#include "support/workloads.hpp"

namespace bench {

struct SliceProblem {
  Window window;
  std::size_t element_size = 1;
  Sizes output_sizes;
  Memory input;
  Memory expected;
  std::size_t source_lines = 0;  ///< distinct 64-byte lines of the source that must be read

  std::size_t count() const { return expected.size() / element_size; }
  /// Bytes of the source lines that must be touched plus the bytes written.
  std::size_t traffic() const { return source_lines * 64 + expected.size(); }
  /// Element index of the input that output coordinate 0 reads, and the step of each dimension, in elements.
  std::int64_t first() const;
  std::vector<std::int64_t> steps() const;
  Outcome compare(std::span<const std::byte> output) const;
};

SliceProblem make_problem(const Window& window, const std::string& type);

Runners onednn_slice(const SliceProblem& problem, unsigned threads);
Runners xnnpack_slice(const SliceProblem& problem, unsigned threads);
Runners eigen_slice(const SliceProblem& problem, unsigned threads);
Runners plain_slice(const SliceProblem& problem, unsigned threads);
Runners onnxruntime_slice(const SliceProblem& problem, unsigned threads);
Runners torch_slice(const SliceProblem& problem, unsigned threads);

}  // namespace bench
