// kernels_test.cpp: both products by every instruction set against sums written a second way and against the reference.
#include "dmlref/matrix_multiply_integer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "support/compiled_case.hpp"
#include "support/matrix_multiply_case.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;

template <class Desc>
void expect_bits(Random& random, const OperatorCase<Desc>& c, std::string_view strategy) {
  const StagedCase<Desc> staged(random, c);
  const CompileResult compiled = compile(staged.desc, latest_feature_level);
  ASSERT_TRUE(compiled) << compiled.report().to_string();
  EXPECT_EQ(compiled.value().strategy_name(), strategy);
  expect_executed(random, compiled.value(), staged, c.output, expected_output(c));
}

/// One of each operator, of any type pair and strides.
void expect_products(Random& random, const ProductShape& shape, std::string_view quantized_strategy) {
  SCOPED_TRACE(describe(shape));
  ProductMaker maker(random, shape, ProductLayout::any);
  expect_bits(random, maker.integer(), "tiled");
  expect_bits(random, maker.quantized(), quantized_strategy);
}

TEST(MatrixProductKernels, RandomShapes) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(400) && !HasFailure(); ++i) {
    expect_products(random, random_product_shape(random), "tiled");
  }
}

// Rows and columns around the sizes of tiles and panels, K around those of groups and of the pieces that are packed.
TEST(MatrixProductKernels, EndsOfTilesPanelsAndGroups) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(40) && !HasFailure(); ++i) {
    ProductShape shape;
    shape.m = pick(random, 1, chance(random, 50) ? 30 : 170);
    shape.n = pick(random, 1, 80);
    const std::uint32_t depths[] = {pick(random, 1, 9),     pick(random, 31, 34),     pick(random, 60, 70),
                                    pick(random, 250, 260), pick(random, 1020, 1030), pick(random, 2045, 2051)};
    shape.k = depths[pick(random, 0, 5)];
    expect_products(random, shape, "tiled");
  }
}

// Scales that all rows share, and signed B without zero points: tiles round the sums that they hold.
TEST(MatrixProductKernels, RoundedInTiles) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(60) && !HasFailure(); ++i) {
    ProductShape shape;
    shape.m = pick(random, 1, chance(random, 50) ? 40 : 170);
    shape.n = pick(random, 8, 200);
    shape.k = chance(random, 25) ? 64 * pick(random, 1, 4) : pick(random, 1, chance(random, 20) ? 600 : 80);
    SCOPED_TRACE(describe(shape));
    OperatorCase<QuantizedLinearMatrixMultiplyDesc> c = ProductMaker(random, shape, ProductLayout::packed).quantized();
    c.desc.b = TensorDesc(DataType::int8, c.desc.b.sizes);
    c.desc.a_scale = c.desc.output_scale = TensorDesc(DataType::float32, {1});
    c.desc.b_scale = TensorDesc(DataType::float32, {c.desc.b_scale.sizes.back()});
    c.desc.a_zero_point.reset();
    c.desc.b_zero_point.reset();
    c.inputs[2] = c.inputs[5] = {};
    if (auto& zero = c.desc.output_zero_point) zero = TensorDesc(zero->data_type, {1});
    expect_bits(random, c, "tiled");
  }
}

// The greatest sums that zero points allow, with scales around those beyond which tiles cannot round.
TEST(MatrixProductKernels, GreatestSums) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(60) && !HasFailure(); ++i) {
    ProductShape shape;
    shape.m = pick(random, 1, 70);
    shape.n = pick(random, 8, 100);
    shape.k = pick(random, 1, chance(random, 20) ? 600 : 150);
    SCOPED_TRACE(describe(shape));
    OperatorCase<QuantizedLinearMatrixMultiplyDesc> c = ProductMaker(random, shape, ProductLayout::packed).quantized();
    c.desc.a_scale = c.desc.b_scale = c.desc.output_scale = TensorDesc(DataType::float32, {1});
    for (auto* zero : {&c.desc.a_zero_point, &c.desc.b_zero_point, &c.desc.output_zero_point}) {
      if (*zero) *zero = TensorDesc((*zero)->data_type, {1});
    }
    // Rows of A and columns of B, each of one end of its type's range or of both.
    const auto fill = [&](const TensorDesc& tensor, std::vector<std::byte>& bytes, std::size_t lines,
                          std::size_t line_step, std::size_t step) {
      const std::byte flip{tensor.data_type == DataType::int8 ? std::uint8_t{0x80} : std::uint8_t{0}};
      for (std::size_t line = 0; line < lines; ++line) {
        const bool high = chance(random, 50), both = chance(random, 30);
        for (std::size_t k = 0; k < shape.k; ++k) {
          const bool here = both ? chance(random, 50) : high;
          bytes[line * line_step + k * step] = (here ? std::byte{0xFF} : std::byte{0}) ^ flip;
        }
      }
    };
    fill(c.desc.a, c.inputs[0], shape.m, shape.k, 1);
    fill(c.desc.b, c.inputs[3], shape.n, 1, shape.n);
    const double reach[] = {128, 255, 200}, limit = 32000;
    const double greatest = reach[pick(random, 0, 2)] * reach[pick(random, 0, 2)] * shape.k;
    const float scales[] = {static_cast<float>(limit / greatest * (0.9 + 0.01 * pick(random, 0, 20))), 1, 1};
    for (std::size_t s = 0; s < 3; ++s) std::memcpy(c.inputs[s == 0 ? 1 : 2 * s + 2].data(), &scales[s], sizeof(float));
    expect_bits(random, c, "tiled");
  }
}

// Several blocks of columns: what a block packs, and where its columns begin.
TEST(MatrixProductKernels, ManyColumns) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(3) && !HasFailure(); ++i) {
    ProductShape shape;
    shape.m = pick(random, 1, 20);
    shape.k = pick(random, 1000, 1500);
    shape.n = pick(random, 300, 600);
    expect_products(random, shape, "tiled");
  }
}

// Sums beyond 2^31: modulo 2^32, or by the reference where they are rounded.
TEST(MatrixProductKernels, DeepSums) {
  Random random(dmlref_test::test_seed());
  ProductShape shape;
  shape.m = 3;
  shape.n = 3;
  for (const std::uint32_t depth : {33025u, 33026u, 65536u}) {
    shape.k = depth;
    expect_products(random, shape, depth <= 33025 ? "tiled" : "reference");
    if (HasFailure()) return;
    // The greatest products of all.
    ProductMaker maker(random, shape, ProductLayout::packed);
    auto integer = maker.integer();
    for (TensorDesc* tensor : {&integer.desc.a, &integer.desc.b}) tensor->data_type = DataType::uint8;
    integer.desc.a_zero_point.reset();
    integer.desc.b_zero_point.reset();
    for (const std::size_t which : {std::size_t{0}, std::size_t{2}})
      std::memset(integer.inputs[which].data(), 0xFF, integer.inputs[which].size());
    integer.inputs[1] = integer.inputs[3] = {};
    expect_bits(random, integer, "tiled");
  }
}

}  // namespace
