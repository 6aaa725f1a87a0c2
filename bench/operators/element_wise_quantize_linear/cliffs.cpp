// cliffs.cpp: values and scales on which quantizing and dequantizing leave their fast ways.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "dmlref/desc/half.hpp"
#include "support/cliffs.hpp"

namespace bench {
namespace {

using dmlref::DataType;
using dmlref::TensorDesc;

/// Elements of one data set, as doubles that the types round.
struct DataSet {
  std::string name;
  double (*element)(Random&);
  double scale;
};

double normal(Random& random) { return random.normal(); }
constexpr double infinity = std::numeric_limits<double>::infinity();
const DataSet random_data{"random", normal, 0.02};
const DataSet data_sets[] = {
    {"all ties", [](Random& random) { return 0.25 * (0.5 + static_cast<double>(random.next() % 100)); }, 0.25},
    {"thirds", [](Random& random) { return static_cast<double>(random.next() % 100) / 3; }, 2.0},
    {"NaN", [](Random&) { return std::numeric_limits<double>::quiet_NaN(); }, 0.02},
    {"infinities", [](Random& random) { return random.next() % 2 == 0 ? infinity : -infinity; }, 0.02},
    {"all saturate", [](Random& random) { return 1e4 * random.normal(); }, 0.02},
    {"subnormal numbers", [](Random& random) { return 1e-40 * random.normal(); }, 0.02},
    {"a subnormal scale", normal, 1e-40},
    {"a scale of 0", normal, 0.0},
    {"a scale of 3e38", normal, 3e38},
};

void store(const Memory& memory, DataType type, std::size_t i, double value) {
  switch (type) {
    case DataType::float32: memory.as<float>()[i] = static_cast<float>(value); break;
    case DataType::float16: memory.as<dmlref::half>()[i] = dmlref::half(value); break;
    case DataType::int32:
    case DataType::int8:
    case DataType::uint8: {
      const double scaled = std::isfinite(value) ? std::nearbyint(50 * value) : 0;  // integers have nothing else
      if (type == DataType::int32) {
        memory.as<std::int32_t>()[i] = static_cast<std::int32_t>(4096 * scaled + 1);
      } else {
        memory.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(static_cast<std::int64_t>(scaled));
      }
      break;
    }
    default: break;
  }
}

struct Workload {
  std::string name;
  DataType from, scale, to;
  bool tiny = false;
};

Subject make(const Workload& w, const DataSet& data) {
  const dmlref::Dimensions sizes = w.tiny ? dmlref::Dimensions{3, 21} : dmlref::Dimensions{512, 768};
  const std::size_t count = std::size_t{sizes[0]} * sizes[1];
  Subject subject;
  Random random(45);
  Memory input(count * size_of(w.from)), scale(4), zero_point(4);
  for (std::size_t i = 0; i < count; ++i) store(input, w.from, i, data.element(random));
  if (w.scale == DataType::float16) {
    scale.as<dmlref::half>()[0] = dmlref::half(data.scale);
  } else {
    scale.as<float>()[0] = static_cast<float>(data.scale);
  }
  subject.output_bytes = count * size_of(w.to);
  subject.inputs.push_back(std::move(input));
  subject.inputs.push_back(std::move(scale));
  subject.inputs.push_back(std::move(zero_point));
  const auto with_tensors = [&](auto d, DataType zero) {
    d.input = TensorDesc(w.from, sizes);
    d.scale = TensorDesc(w.scale, sizes, dmlref::Dimensions{0, 0});
    d.zero_point = TensorDesc(zero, sizes, dmlref::Dimensions{0, 0});
    d.output = TensorDesc(w.to, sizes);
    return d;
  };
  if (size_of(w.to) == 1) {
    subject.desc = with_tensors(dmlref::ElementWiseQuantizeLinearDesc{}, w.to);
  } else {
    subject.desc = with_tensors(dmlref::ElementWiseDequantizeLinearDesc{}, w.from);
  }
  return subject;
}

}  // namespace

void add_quantize_linear_cliffs(std::vector<Cliff>& cliffs) {
  const Workload workloads[] = {
      {"float32 to uint8", DataType::float32, DataType::float32, DataType::uint8},
      {"float16 to int8", DataType::float16, DataType::float16, DataType::int8},
      {"int32 to uint8", DataType::int32, DataType::float32, DataType::uint8},
      {"uint8 to float32", DataType::uint8, DataType::float32, DataType::float32},
      {"int32 to float32", DataType::int32, DataType::float32, DataType::float32},
      {"uint8 to float16", DataType::uint8, DataType::float16, DataType::float16},
      {"tiny float32 to uint8", DataType::float32, DataType::float32, DataType::uint8, true},
  };
  for (const Workload& w : workloads) {
    for (const DataSet& data : data_sets) {
      cliffs.push_back({size_of(w.to) == 1 ? "QUANTIZE" : "DEQUANTIZE", w.name, data.name,
                        [w, &data] { return make(w, data); }, [w] { return make(w, random_data); }, w.tiny});
    }
  }
}

}  // namespace bench
