// The shortest way: a descriptor by value, run in one call. Every second row from the last on, every second column.
#include <dmlref/dmlref.hpp>

#include <cstdio>
#include <numeric>
#include <span>

int main() {
  float picture[16];  // 1 2 3 4 / 5 6 7 8 / 9 10 11 12 / 13 14 15 16
  std::iota(std::begin(picture), std::end(picture), 1.0f);
  float part[4];

  dmlref::Slice1Desc slice;  // the second example of SLICE1's document
  slice.input = {dmlref::DataType::float32, {1, 1, 4, 4}};
  slice.output = {dmlref::DataType::float32, {1, 1, 2, 2}};
  slice.window_offsets = {0, 0, 0, 1};
  slice.window_sizes = {1, 1, 4, 3};
  slice.window_strides = {1, 1, -2, 2};

  const dmlref::Report report = dmlref::run(slice, dmlref::latest_feature_level, {picture}, {part});
  if (!report) return std::puts(report.to_string().c_str()), 1;
  std::printf("%g %g %g %g\n", part[0], part[1], part[2], part[3]);  // 14 16 6 8
}
