// nonsense_test.cpp: descriptors of random bytes behind valid pointers: a report, never a crash; and what a report says
// of levels is true.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <string>

#include "dmlref/dmlref.hpp"
#include "support/report_claims.hpp"
#include "support/seed.hpp"
#include "validate/request.hpp"

namespace {

using dmlref::FeatureLevel;
using request::Request;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t upto(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n)(engine_); }
  bool one_in(std::uint32_t n) { return upto(n - 1) == 0; }
  std::uint32_t any() { return static_cast<std::uint32_t>(engine_()); }
  // A number of the sort that breaks things.
  std::uint32_t number() {
    constexpr std::uint32_t odd[] = {0, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 65535, 65536};
    switch (upto(5)) {
      case 0: return odd[upto(7)];
      case 1: return any();
      default: return upto(9);
    }
  }

 private:
  std::mt19937_64 engine_;
};

// A report is well formed, and says of higher levels what they say themselves.
void check_report(const DML_OPERATOR_DESC& desc, FeatureLevel level) {
  EXPECT_EQ("", dmlref_test::broken_claim(desc, level));
}

TEST(Nonsense, NullEverything) {
  for (std::uint32_t type = 0; type <= 200; ++type) {
    Request r;
    r.type = type;
    for (const auto& [level, name] : dmlref::feature_levels) {
      EXPECT_FALSE(request::validate(r, level).ok());
      r.desc_is_null = !r.desc_is_null;
      EXPECT_FALSE(request::validate(r, level).ok());
    }
    r.desc_is_null = false;
    const request::Linked linked(r);
    check_report(linked.desc(), dmlref::feature_levels.front().level);
    EXPECT_FALSE(dmlref::detail::read_directml(linked.desc()).has_value());
  }
}

// Every byte that is no pointer is random; pointers are null or lead to eight random numbers.
class Garbage {
 public:
  explicit Garbage(Random& random) : random_(random) {
    for (auto& array : arrays_) {
      for (UINT& value : array) value = random.number();
    }
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      fill(buffers_[i]);
      buffers_[i].Sizes = array();
      buffers_[i].Strides = array();
      if (random.upto(3) != 0) request::put(buffers_[i].DataType, random.upto(14));
      if (random.upto(3) != 0) buffers_[i].DimensionCount = random.upto(9);
      fill(tensors_[i]);
      request::put(tensors_[i].Type, random.one_in(8) ? random.any() : 1);
      tensors_[i].Desc = random.one_in(8) ? nullptr : &buffers_[i];
    }
    fill(activation_);
    if (random.one_in(2)) activation_.input = activation_.output = nullptr;
    fill(activation_desc_);
    request::put(activation_desc_.Type, random.one_in(8) ? random.any() : random.upto(160));
    activation_desc_.Desc = random.one_in(8) ? nullptr : &activation_;

    const UINT count = random.one_in(4) ? random.any() : random.upto(9);
    fill(desc_);
    switch (random.upto(10)) {
      case 0: {
        slice_ = {tensor(), tensor(), count, array(), array(), array()};
        set(60, &slice_);
        break;
      }
      case 1: {
        slice1_ = {tensor(), tensor(), count, array(), array(), reinterpret_cast<const INT*>(array())};
        set(111, &slice1_);
        break;
      }
      case 2: {
        convolution_ = {tensor(), tensor(), tensor(), tensor(), tensor(), tensor(), tensor(), tensor(),
                        tensor(), tensor(), count,    array(),  array(),  array(),  array(),  random.number()};
        set(120, &convolution_);
        break;
      }
      case 3: {
        fill(normalization_);
        normalization_.InputTensor = tensor();
        normalization_.ScaleTensor = tensor();
        normalization_.BiasTensor = tensor();
        normalization_.OutputTensor = tensor();
        normalization_.FusedActivation = activation();
        set(73, &normalization_);
        break;
      }
      case 4: {
        quantize_linear_ = {tensor(), tensor(), tensor(), tensor()};
        set(33, &quantize_linear_);
        break;
      }
      case 5: {
        dequantize_linear_ = {tensor(), tensor(), tensor(), tensor()};
        set(34, &dequantize_linear_);
        break;
      }
      case 8: {
        convolution_integer_ = {tensor(), tensor(), tensor(), tensor(), tensor(),       count,
                                array(),  array(),  array(),  array(),  random.number()};
        set(119, &convolution_integer_);
        break;
      }
      case 6: {
        product_ = {tensor(), tensor(), tensor(), tensor(), tensor()};
        set(117, &product_);
        break;
      }
      case 7: {
        quantized_product_ = {tensor(), tensor(), tensor(), tensor(), tensor(), tensor(), tensor(), tensor(), tensor()};
        set(118, &quantized_product_);
        break;
      }
      case 9: {
        fill(normalization2_);
        normalization2_.InputTensor = tensor();
        normalization2_.ScaleTensor = tensor();
        normalization2_.BiasTensor = tensor();
        normalization2_.OutputTensor = tensor();
        normalization2_.AxisCount = count;
        normalization2_.Axes = array();
        normalization2_.FusedActivation = activation();
        set(171, &normalization2_);
        break;
      }
      default: {
        fill(normalization1_);
        normalization1_.InputTensor = tensor();
        normalization1_.ScaleTensor = tensor();
        normalization1_.BiasTensor = tensor();
        normalization1_.OutputTensor = tensor();
        normalization1_.AxisCount = count;
        normalization1_.Axes = array();
        normalization1_.FusedActivation = activation();
        set(115, &normalization1_);
        break;
      }
    }
  }
  const DML_OPERATOR_DESC& desc() const { return desc_; }

 private:
  template <class T>
  void fill(T& object) {
    unsigned char bytes[sizeof(T)];
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random_.upto(255));
    std::memcpy(&object, bytes, sizeof(bytes));
  }
  const UINT* array() { return random_.one_in(8) ? nullptr : arrays_[random_.upto(7)].data(); }
  const DML_TENSOR_DESC* tensor() { return random_.one_in(8) ? nullptr : &tensors_[random_.upto(3)]; }
  const DML_OPERATOR_DESC* activation() { return random_.one_in(3) ? nullptr : &activation_desc_; }
  void set(std::uint32_t type, const void* desc) {
    request::put(desc_.Type, random_.one_in(20) ? random_.any() : type);
    // The type decides as what the desc is read, so it may only lie where no desc is read.
    const bool reads = dmlref::find_operator(static_cast<dmlref::OperatorType>(dmlref::rules::number(desc_.Type)));
    if (reads) request::put(desc_.Type, type);
    desc_.Desc = random_.one_in(20) ? nullptr : desc;
  }

  Random& random_;
  std::array<std::array<UINT, 8>, 8> arrays_{};  // exactly as long as the longest that may be read
  std::array<DML_BUFFER_TENSOR_DESC, 4> buffers_{};
  std::array<DML_TENSOR_DESC, 4> tensors_{};
  DML_OPERATOR_DESC activation_desc_{};
  struct {
    const void* input;
    const void* output;
    float parameters[2];
  } activation_{};
  DML_OPERATOR_DESC desc_{};
  DML_SLICE_OPERATOR_DESC slice_{};
  DML_SLICE1_OPERATOR_DESC slice1_{};
  DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC convolution_{};
  DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC normalization_{};
  DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC normalization1_{};
  DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC normalization2_{};
  DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC quantize_linear_{};
  DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC dequantize_linear_{};
  DML_CONVOLUTION_INTEGER_OPERATOR_DESC convolution_integer_{};
  DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC product_{};
  DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC quantized_product_{};
};

TEST(Nonsense, RandomBytes) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < 5000 && !testing::Test::HasFailure(); ++i) {
    const Garbage garbage(random);
    check_report(garbage.desc(), dmlref::feature_levels[random.upto(14)].level);
  }
}

// A few changes to a good request reach the rules that random bytes never do.
void bend(Request& r, Random& random) {
  const auto any_tensor = [&]() -> request::Tensor& {
    auto at = r.tensors.begin();
    std::advance(at, random.upto(static_cast<std::uint32_t>(r.tensors.size()) - 1));
    return at->second;
  };
  switch (random.upto(10)) {
    case 0: any_tensor().data_type = random.upto(14); break;
    case 1: {
      const std::uint32_t type = random.upto(14);
      for (auto& [name, tensor] : r.tensors) {
        if (r.type < 117 || r.type > 120 || tensor.data_type == 5) tensor.data_type = type;
      }
      break;
    }
    case 2: {
      auto& sizes = any_tensor().sizes;
      if (!sizes.empty()) sizes[random.upto(static_cast<std::uint32_t>(sizes.size()) - 1)] = random.number();
      break;
    }
    case 3: any_tensor().sizes.assign(random.upto(8), 1 + random.upto(1)); break;
    case 4: {
      auto& tensor = any_tensor();
      tensor.strides.emplace();
      for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
        tensor.strides->push_back(random.one_in(9) ? random.number() : random.upto(9));
      }
      break;
    }
    case 5: any_tensor().total_size = random.number(); break;
    case 6: {
      if (r.arrays.empty()) break;
      auto at = r.arrays.begin();
      std::advance(at, random.upto(static_cast<std::uint32_t>(r.arrays.size()) - 1));
      at->second[random.upto(static_cast<std::uint32_t>(at->second.size()) - 1)] = random.number();
      break;
    }
    case 7: {
      auto at = r.tensors.begin();
      std::advance(at, random.upto(static_cast<std::uint32_t>(r.tensors.size()) - 1));
      r.tensors.erase(at);
      break;
    }
    case 8: {
      const std::uint32_t rank = 1 + random.upto(7);
      for (auto& [name, tensor] : r.tensors) tensor.sizes.assign(rank, 1);
      for (auto& [name, array] : r.arrays) {
        for (UINT& value : array) value = name.find("Off") != std::string::npos ? 0 : 1;
      }
      if (r.type == 60 || r.type == 111) r.count = rank;
      break;
    }
    default: r = request::fused(r, random.upto(160), random.upto(1) == 0 ? 0.5f : 1.0f); break;
  }
}

Request good(std::uint32_t which) {
  switch (which) {
    case 0: return request::slice();
    case 1: return request::slice1();
    case 2: return request::convolution();
    case 3: return request::convolution_1d();
    case 4: return request::normalization();
    case 5: return request::quantize_linear();
    case 6: return request::dequantize_linear();
    case 7: return request::matrix_multiply();
    case 8: return request::matrix_multiply_2d();
    case 9: return request::quantized_matrix_multiply();
    case 10: return request::quantized_matrix_multiply_3d();
    case 11: return request::convolution_integer();
    case 12: return request::convolution_integer_1d();
    case 13: return request::normalization2();
    default: return request::normalization1();
  }
}

TEST(Nonsense, BentRequests) {
  Random random(dmlref_test::test_seed());
  int valid = 0;
  const int cases = 5000;
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
    Request r = good(random.upto(14));
    for (auto& [name, array] : r.arrays) array.resize(8, 1);
    for (std::uint32_t bends = random.upto(3); bends > 0 && !r.tensors.empty(); --bends) bend(r, random);
    for (auto& [name, tensor] : r.tensors) {
      if (tensor.strides) tensor.strides->resize(tensor.sizes.size(), 1);
    }
    const request::Linked linked(r);
    check_report(linked.desc(), dmlref::feature_levels[random.upto(14)].level);
    for (const auto& [of, name] : dmlref::feature_levels) {
      EXPECT_EQ("", dmlref_test::native_difference(linked.desc(), of)) << name;
    }
    valid += dmlref::validate(linked.desc(), dmlref::latest_feature_level).ok();
  }
  EXPECT_GT(valid, cases / 10);
}

// What read_directml copies, field by field.
TEST(ReadDirectml, CopiesEverything) {
  Request r = request::convolution();
  r.tensors["FilterTensor"].flags = 1;
  r.tensors["FilterTensor"].alignment = 32;
  r.tensors["FilterTensor"].total_size = 4096;
  r.tensors["FilterTensor"].strides = {{12, 6, 2, 1}};
  r.tensors.erase("BiasTensor");
  const request::Linked linked(r);
  const auto value = dmlref::detail::read_directml(linked.desc());
  ASSERT_TRUE(value.has_value());
  const auto& desc = std::get<dmlref::QuantizedLinearConvolutionDesc>(*value);
  EXPECT_EQ(dmlref::DataType::int8, desc.filter.data_type);
  EXPECT_EQ((dmlref::Dimensions{6, 2, 3, 2}), desc.filter.sizes);
  EXPECT_EQ((dmlref::Dimensions{12, 6, 2, 1}), desc.filter.strides.value());
  EXPECT_EQ(4096u, desc.filter.total_size_in_bytes);
  EXPECT_EQ(32u, desc.filter.guaranteed_base_offset_alignment);
  EXPECT_TRUE(desc.filter.owned_by_dml);
  EXPECT_FALSE(desc.input.owned_by_dml);
  EXPECT_FALSE(desc.input.strides.has_value());
  EXPECT_FALSE(desc.bias.has_value());
  EXPECT_TRUE(desc.filter_zero_point.has_value());
  EXPECT_EQ((dmlref::Dimensions{1, 6, 1, 1}), desc.filter_scale.sizes);
  EXPECT_EQ((dmlref::Dimensions{2, 3}), desc.strides);
  EXPECT_EQ((dmlref::Dimensions{2, 1}), desc.dilations);
  EXPECT_EQ((dmlref::Dimensions{1, 0}), desc.start_padding);
  EXPECT_EQ((dmlref::Dimensions{2, 1}), desc.end_padding);
  EXPECT_EQ(2u, desc.group_count);

  Request n = request::fused(request::normalization1(), 45, 1.5f, 2.5f);
  n.numbers["NormalizeVariance"] = static_cast<UINT>(7);  // any BOOL but 0 is true
  n.numbers["Epsilon"] = request::bits(0.25f);
  const request::Linked linked_n(n);
  const auto value_n = dmlref::detail::read_directml(linked_n.desc());
  ASSERT_TRUE(value_n.has_value());
  const auto& mvn1 = std::get<dmlref::MeanVarianceNormalization1Desc>(*value_n);
  EXPECT_EQ((dmlref::Dimensions{2, 3}), mvn1.axes);
  EXPECT_TRUE(mvn1.normalize_variance);
  EXPECT_EQ(0.25f, mvn1.epsilon);
  ASSERT_TRUE(mvn1.fused_activation.has_value());
  EXPECT_EQ(dmlref::ActivationType::scaled_elu, mvn1.fused_activation->type);
  EXPECT_EQ(1.5f, mvn1.fused_activation->parameters[0]);
  EXPECT_EQ(2.5f, mvn1.fused_activation->parameters[1]);

  Request m = request::normalization();
  m.numbers["CrossChannel"] = static_cast<UINT>(-1);
  m.numbers["NormalizeVariance"] = static_cast<UINT>(0);
  const request::Linked linked_m(m);
  const auto value_m = dmlref::detail::read_directml(linked_m.desc());
  ASSERT_TRUE(value_m.has_value());
  const auto& mvn = std::get<dmlref::MeanVarianceNormalizationDesc>(*value_m);
  EXPECT_TRUE(mvn.cross_channel);
  EXPECT_FALSE(mvn.normalize_variance);
  EXPECT_FALSE(mvn.fused_activation.has_value());

  Request s = request::slice1();
  const request::Linked linked_s(s);
  const auto value_s = dmlref::detail::read_directml(linked_s.desc());
  ASSERT_TRUE(value_s.has_value());
  EXPECT_EQ((std::vector<std::int32_t>{1, 1, -2, 2}), std::get<dmlref::Slice1Desc>(*value_s).window_strides);
}

}  // namespace
