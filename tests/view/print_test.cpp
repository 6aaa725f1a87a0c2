// print_test.cpp: what NumPy 1.24.2 prints of the same arrays, copied.
#include "dmlref/print.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace dmlref;

template <class T>
std::string printed(const std::vector<T>& values, const Shape& shape) {
  return to_string(TensorView<const T>(values.data(), shape));
}
template <class T>
std::string counted(const Shape& shape, T step = 1) {
  std::vector<T> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(static_cast<T>(i) * step);
  return printed<T>(values, shape);
}
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Print, AScalarIsPrintedAsPythonPrintsANumber) {
  EXPECT_EQ(printed<std::int32_t>({42}, {}), "42");
  EXPECT_EQ(printed<std::uint8_t>({65}, {}), "65");
  EXPECT_EQ(printed<float>({0.1f}, {}), "0.1");
  EXPECT_EQ(printed<float>({-3}, {}), "-3.0");
  EXPECT_EQ(printed<float>({1e-5f}, {}), "1e-05");
  EXPECT_EQ(printed<float>({99999992}, {}), "99999990.0");
  EXPECT_EQ(printed<double>({1e16}, {}), "1e+16");
  EXPECT_EQ(printed<half>({half(0.1)}, {}), "0.1");
  EXPECT_EQ(printed<half>({half(0.015625)}, {}), "0.01563");
  EXPECT_EQ(printed<float>({-infinity}, {}), "-inf");
}

TEST(Print, NumbersStandInColumns) {
  EXPECT_EQ(printed<std::int8_t>({1, -20, 3, 100, 5, 6}, {2, 3}),
            "[[  1 -20   3]\n"
            " [100   5   6]]");
  EXPECT_EQ(printed<std::uint64_t>({UINT64_MAX, 0}, {2}), "[18446744073709551615                    0]");
  EXPECT_EQ(printed<float>({0.5f, 1, -2.25f, 3}, {2, 2}),
            "[[ 0.5   1.  ]\n"
            " [-2.25  3.  ]]");
  EXPECT_EQ(printed<float>({0, -0.0f}, {2}), "[ 0. -0.]");
  EXPECT_EQ(printed<float>({nan, infinity, -infinity, 1}, {4}), "[ nan  inf -inf   1.]");
  EXPECT_EQ(printed<float>({nan}, {1}), "[nan]");
  EXPECT_EQ(printed<half>({half(65504.0), half(100.0)}, {2}), "[65504.   100.]");
  EXPECT_EQ(printed<half>({half(0.1), half(2.0 / 3), half(0.015625)}, {3}), "[0.1     0.6665  0.01563]");
}

TEST(Print, NumbersFarApartHaveExponents) {
  EXPECT_EQ(printed<float>({0.1f, 1234.5678f}, {2}), "[1.0000000e-01 1.2345677e+03]");
  EXPECT_EQ(printed<double>({1.0 / 3, 1e100, -5e-324}, {3}), "[ 3.33333333e-001  1.00000000e+100 -4.94065646e-324]");
  EXPECT_EQ(printed<double>({0.1 + 0.2, 123456.789012345}, {2}), "[3.00000000e-01 1.23456789e+05]");
  EXPECT_EQ(printed<half>({half(6e-8), half(1.0)}, {2}), "[6.e-08 1.e+00]");
  EXPECT_EQ(printed<half>({half(0.000977), half(1.0)}, {2}), "[9.77e-04 1.00e+00]");
}

TEST(Print, EveryDimensionHasItsBrackets) {
  EXPECT_EQ(printed<float>({}, {0, 3}), "[]");
  EXPECT_EQ(counted<std::int32_t>({2, 2, 2}),
            "[[[0 1]\n"
            "  [2 3]]\n"
            "\n"
            " [[4 5]\n"
            "  [6 7]]]");
  EXPECT_EQ(counted<std::int32_t>({1, 2, 1, 2}),
            "[[[[0 1]]\n"
            "\n"
            "  [[2 3]]]]");
}

TEST(Print, LongRowsAreBroken) {
  EXPECT_EQ(counted<float>({30}),
            "[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
            " 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29.]");
  EXPECT_EQ(counted<std::int32_t>({2, 12}, 10000),
            "[[     0  10000  20000  30000  40000  50000  60000  70000  80000  90000\n"
            "  100000 110000]\n"
            " [120000 130000 140000 150000 160000 170000 180000 190000 200000 210000\n"
            "  220000 230000]]");
}

TEST(Print, MoreThanAThousandAreShownByTheirEnds) {
  EXPECT_EQ(counted<std::int32_t>({4, 400}),
            "[[   0    1    2 ...  397  398  399]\n"
            " [ 400  401  402 ...  797  798  799]\n"
            " [ 800  801  802 ... 1197 1198 1199]\n"
            " [1200 1201 1202 ... 1597 1598 1599]]");
  EXPECT_EQ(counted<float>({7, 2, 80}),
            "[[[0.000e+00 1.000e+00 2.000e+00 ... 7.700e+01 7.800e+01 7.900e+01]\n"
            "  [8.000e+01 8.100e+01 8.200e+01 ... 1.570e+02 1.580e+02 1.590e+02]]\n"
            "\n"
            " [[1.600e+02 1.610e+02 1.620e+02 ... 2.370e+02 2.380e+02 2.390e+02]\n"
            "  [2.400e+02 2.410e+02 2.420e+02 ... 3.170e+02 3.180e+02 3.190e+02]]\n"
            "\n"
            " [[3.200e+02 3.210e+02 3.220e+02 ... 3.970e+02 3.980e+02 3.990e+02]\n"
            "  [4.000e+02 4.010e+02 4.020e+02 ... 4.770e+02 4.780e+02 4.790e+02]]\n"
            "\n"
            " ...\n"
            "\n"
            " [[6.400e+02 6.410e+02 6.420e+02 ... 7.170e+02 7.180e+02 7.190e+02]\n"
            "  [7.200e+02 7.210e+02 7.220e+02 ... 7.970e+02 7.980e+02 7.990e+02]]\n"
            "\n"
            " [[8.000e+02 8.010e+02 8.020e+02 ... 8.770e+02 8.780e+02 8.790e+02]\n"
            "  [8.800e+02 8.810e+02 8.820e+02 ... 9.570e+02 9.580e+02 9.590e+02]]\n"
            "\n"
            " [[9.600e+02 9.610e+02 9.620e+02 ... 1.037e+03 1.038e+03 1.039e+03]\n"
            "  [1.040e+03 1.041e+03 1.042e+03 ... 1.117e+03 1.118e+03 1.119e+03]]]");
}

TEST(Print, StridesBytesAndStreams) {
  const std::vector<std::int32_t> values = {1, 2, 3, 4, 5, 6};
  std::ostringstream out;
  out << TensorView<const std::int32_t>(values.data(), {2, 3}).permute({1, 0}).flip(0);
  EXPECT_EQ(out.str(), "[[3 6]\n [2 5]\n [1 4]]");
  const auto bytes = std::as_bytes(std::span(values));
  EXPECT_EQ(to_string(dmlref::bind<const std::int32_t>(bytes.data(), Layout({3}, {-2}, 4))), "[5 3 1]");
}

TEST(Print, ReportsLevelsAndTypesGoToStreams) {
  Report report;
  std::ostringstream out;
  out << report << ' ' << DataType::float16 << ' ' << FeatureLevel::level_4_1 << ' ' << Isa::avx2 << ' '
      << RuleId::tensor_rank << '\n';
  report.add(RuleId::tensor_rank, "InputTensor.DimensionCount", {"is 2, expected 4"}, FeatureLevel::level_3_0);
  report.add(RuleId::tensor_size_zero, "InputTensor.Sizes[0]", {"is 0, expected at least 1"});
  out << report.violations()[1] << '\n' << report;
  EXPECT_EQ(out.str(),
            "ok FLOAT16 4_1 avx2 tensor_rank\n"
            "InputTensor.Sizes[0] is 0, expected at least 1 [tensor_size_zero]\n"
            "InputTensor.DimensionCount is 2, expected 4 [tensor_rank] (accepted from feature level 3_0)\n"
            "InputTensor.Sizes[0] is 0, expected at least 1 [tensor_size_zero]");
}

}  // namespace
