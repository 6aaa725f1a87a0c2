// cliffs.cpp: slices copy bytes: one row shows that data make no difference.
#include <cmath>
#include <limits>

#include "support/cliffs.hpp"

namespace bench {
namespace {

Subject make(bool numbers) {
  dmlref::Slice1Desc d;
  d.input = dmlref::TensorDesc(dmlref::DataType::float32, {1, 64, 56, 56});
  d.output = dmlref::TensorDesc(dmlref::DataType::float32, {1, 64, 28, 28});
  d.window_offsets = {0, 0, 14, 14};
  d.window_sizes = {1, 64, 28, 28};
  d.window_strides = {1, 1, 1, 1};
  Subject subject;
  Memory input(std::size_t{4} * 64 * 56 * 56);
  Random random(38);
  for (std::size_t i = 0; i < input.size() / 4; ++i) {
    input.as<float>()[i] = numbers ? static_cast<float>(random.uniform()) : std::numeric_limits<float>::signaling_NaN();
  }
  subject.output_bytes = std::size_t{4} * 64 * 28 * 28;
  subject.inputs.push_back(std::move(input));
  subject.desc = d;
  return subject;
}

}  // namespace

void add_slice_cliffs(std::vector<Cliff>& cliffs) {
  cliffs.push_back({"SLICE1", "{1,64,56,56} to {1,64,28,28}, float32", "signalling NaNs", [] { return make(false); },
                    [] { return make(true); }});
}

}  // namespace bench
