#include "operators/slice/cases.hpp"

#include <cstdlib>

namespace bench {

std::int64_t SliceProblem::first() const {
  std::int64_t index = 0;
  std::int64_t packed = 1;
  for (std::size_t d = window.sizes.size(); d-- > 0;) {
    const std::int64_t start =
        window.strides[d] > 0 ? window.offsets[d] : std::int64_t{window.offsets[d]} + window.window[d] - 1;
    index += start * packed;
    packed *= window.sizes[d];
  }
  return index;
}

std::vector<std::int64_t> SliceProblem::steps() const {
  std::vector<std::int64_t> steps(window.sizes.size());
  std::int64_t packed = 1;
  for (std::size_t d = window.sizes.size(); d-- > 0;) {
    steps[d] = window.strides[d] * packed;
    packed *= window.sizes[d];
  }
  return steps;
}

Outcome SliceProblem::compare(std::span<const std::byte> output) const {
  Outcome outcome;
  outcome.outputs = count();
  if (std::memcmp(output.data(), expected.data(), expected.size()) == 0) return outcome;
  for (std::size_t i = 0; i < count(); ++i) {
    if (std::memcmp(output.data() + i * element_size, expected.data() + i * element_size, element_size) != 0) {
      ++outcome.wrong;
    }
  }
  return outcome;
}

SliceProblem make_problem(const Window& window, const std::string& type) {
  SliceProblem p;
  p.window = window;
  p.element_size = type == "u8" ? 1 : type == "f16" ? 2 : type == "f32" ? 4 : 8;
  std::size_t input_count = 1, output_count = 1;
  for (std::size_t d = 0; d < window.sizes.size(); ++d) {
    const auto step = static_cast<std::uint32_t>(std::abs(window.strides[d]));
    p.output_sizes.push_back((window.window[d] - 1) / step + 1);
    input_count *= window.sizes[d];
    output_count *= p.output_sizes[d];
  }
  p.input = Memory(input_count * p.element_size);
  Random(20261121).fill(p.input.span());
  if (type == "f16" || type == "f32") {
    // Ordinary numbers, so that a peer that copies through arithmetic is not tripped by a NaN.
    for (std::size_t i = p.element_size - 1; i < p.input.size(); i += p.element_size) {
      p.input.data()[i] &= std::byte{0xBB};
    }
  }
  p.expected = Memory(output_count * p.element_size);

  std::vector<bool> touched(p.input.size() / 64 + 1);
  const std::vector<std::int64_t> steps = p.steps();
  std::int64_t from = p.first();
  std::vector<std::uint32_t> at(window.sizes.size(), 0);
  const std::size_t size = p.element_size;
  for (std::size_t i = 0; i < output_count; ++i) {
    const auto source = static_cast<std::size_t>(from) * size;
    std::memcpy(p.expected.data() + i * size, p.input.data() + source, size);
    touched[source / 64] = true;
    for (std::size_t d = at.size(); d-- > 0;) {
      from += steps[d];
      if (++at[d] < p.output_sizes[d]) break;
      from -= steps[d] * p.output_sizes[d];
      at[d] = 0;
    }
  }
  for (const bool line : touched) p.source_lines += line ? 1 : 0;
  return p;
}

}  // namespace bench
