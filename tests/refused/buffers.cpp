// Braced lists of buffers: arrays, vectors and spans of elements of a DataType or of std::byte, and nothing else.
#include <dmlref/dmlref.hpp>

#include <array>
#include <deque>
#include <string>

using namespace dmlref;

int main() {
  const SliceDesc desc;
  std::vector<half> in(4);
  const std::array<std::uint64_t, 2> wide{};
  float out[4]{};
  std::byte raw[16]{};
  const std::vector<float> constant(4);
  const std::string text = "1234";
  const std::deque<float> pieces(4);
  const std::vector<bool> bits(4);
  float* const pointer = out;
  Report report = run(desc, latest_feature_level, {in}, {out});
  report = run(desc, latest_feature_level, {wide, {}, std::span(raw)}, {std::span(out), raw});
  static_cast<void>(constant), static_cast<void>(text), static_cast<void>(pieces), static_cast<void>(bits);
  static_cast<void>(pointer);
#if REFUSED  // no matching function
  report = run(desc, latest_feature_level, {text}, {out});
#endif
#if REFUSED  // no matching function
  report = run(desc, latest_feature_level, {pieces}, {out});
#endif
#if REFUSED  // no matching function
  report = run(desc, latest_feature_level, {bits}, {out});
#endif
#if REFUSED  // no matching function
  report = run(desc, latest_feature_level, {pointer}, {out});
#endif
#if REFUSED  // no matching function
  report = run(desc, latest_feature_level, {in}, {constant});
#endif
#if REFUSED  // no matching function
  report = run(desc, latest_feature_level, {in}, {std::vector<float>(4)});
#endif
  return report ? 0 : 1;
}
