// cliffs.cpp: matrices and scales on which integer products leave their fast ways.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "support/cliffs.hpp"
#include "support/workloads.hpp"

namespace bench {
namespace {

using dmlref::DataType;
using dmlref::TensorDesc;

struct Factors {
  std::vector<std::uint8_t> a, b;
  float a_scale = 0.02f, b_scale = 0.003f, output_scale = 1;
  std::uint8_t output_zero = 128;
};
struct DataSet {
  std::string name;
  void (*change)(Factors&);
  bool needs_scales = false;
};

const DataSet random_data{"random", [](Factors&) {}};
const DataSet data_sets[] = {
    {"all 0",
     [](Factors& f) {
       for (auto* bytes : {&f.a, &f.b}) bytes->assign(bytes->size(), 0);
     }},
    {"extremes",
     [](Factors& f) {
       for (auto* bytes : {&f.a, &f.b}) {
         for (std::uint8_t& x : *bytes) x = x < 128 ? 0 : 255;
       }
     }},
    {"powers of two, all ties",
     [](Factors& f) {
       f.a_scale = 0.25f;
       f.b_scale = 0x1p-10f;
       f.output_scale = 0.5f;
       f.output_zero = 127;
       for (std::uint8_t& x : f.a) x = static_cast<std::uint8_t>(x / 64 * 64 + 128);
       for (std::uint8_t& x : f.b) x = static_cast<std::uint8_t>(x / 32 * 32);
     },
     true},
    {"a scale of 1e38", [](Factors& f) { f.a_scale = 1e38f; }, true},
    {"a subnormal scale", [](Factors& f) { f.b_scale = 1e-40f; }, true},
    {"an output scale of 0", [](Factors& f) { f.output_scale = 0; }, true},
};

Subject make(const MatrixProduct& shape, bool quantized, bool owned, const DataSet& data) {
  Random random(45);
  Factors f;
  f.a.resize(std::size_t{shape.m} * shape.k);
  f.b.resize(std::size_t{shape.k} * shape.n);
  for (auto* bytes : {&f.a, &f.b}) {
    for (std::uint8_t& x : *bytes) x = static_cast<std::uint8_t>(random.next());
  }
  f.output_scale = static_cast<float>(0.02 * 0.003 * 74 * 74 * std::sqrt(shape.k) / 45);
  data.change(f);
  const auto constant = [&](DataType type, const Sizes& sizes) {
    TensorDesc tensor(type, sizes);
    tensor.owned_by_dml = owned;
    return tensor;
  };
  Subject subject;
  const auto byte = [](std::uint8_t value) { return copy_of(std::vector<std::uint8_t>{value}); };
  const auto real = [](float value) { return copy_of(std::vector<float>{value}); };
  const auto set_operands = [&](auto& d) {
    d.a = TensorDesc(DataType::uint8, {shape.m, shape.k});
    d.a_zero_point = constant(DataType::uint8, {1, 1});
    d.b = constant(DataType::int8, {shape.k, shape.n});
  };
  if (quantized) {
    dmlref::QuantizedLinearMatrixMultiplyDesc d;
    set_operands(d);
    d.a_scale = d.b_scale = d.output_scale = constant(DataType::float32, {1, 1});
    d.output_zero_point = constant(DataType::uint8, {1, 1});
    d.output = TensorDesc(DataType::uint8, {shape.m, shape.n});
    subject.desc = d;
    subject.output_bytes = std::size_t{shape.m} * shape.n;
    subject.inputs.push_back(copy_of(f.a));
    subject.inputs.push_back(real(f.a_scale));
    subject.inputs.push_back(byte(128));
    subject.inputs.push_back(copy_of(f.b));
    subject.inputs.push_back(real(f.b_scale));
    subject.inputs.emplace_back();
    subject.inputs.push_back(real(f.output_scale));
    subject.inputs.push_back(byte(f.output_zero));
  } else {
    dmlref::MatrixMultiplyIntegerDesc d;
    set_operands(d);
    d.output = TensorDesc(DataType::int32, {shape.m, shape.n});
    subject.desc = d;
    subject.output_bytes = std::size_t{4} * shape.m * shape.n;
    subject.inputs.push_back(copy_of(f.a));
    subject.inputs.push_back(byte(128));
    subject.inputs.push_back(copy_of(f.b));
    subject.inputs.emplace_back();
  }
  return subject;
}

}  // namespace

void add_matrix_multiply_cliffs(std::vector<Cliff>& cliffs) {
  const MatrixProduct shapes[] = {{"{128,768} by {768,768}", 1, 128, 768, 768},
                                  {"{1,768} by {768,3072}", 1, 1, 768, 3072},
                                  {"tiny {3,17} by {17,5}", 1, 3, 17, 5}};
  for (const MatrixProduct& shape : shapes) {
    for (const bool quantized : {false, true}) {
      for (const bool owned : {true, false}) {
        const std::string name = shape.name + (owned ? ", B owned" : "");
        for (const DataSet& data : data_sets) {
          if (data.needs_scales && !quantized) continue;
          cliffs.push_back({quantized ? "QLMM" : "MMI", name, data.name,
                            [=, &data] { return make(shape, quantized, owned, data); },
                            [=] { return make(shape, quantized, owned, random_data); }, shape.m == 3});
        }
      }
    }
  }
}

}  // namespace bench
