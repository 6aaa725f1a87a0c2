// eigen_quantize.cpp: quantizing and products of integers composed of Eigen expressions.
#include <Eigen/Core>
#include <algorithm>
#include <memory>

#include "operators/element_wise_quantize_linear/cases.hpp"
#include "operators/matrix_multiply_integer/cases.hpp"

namespace bench {
namespace {

using Eigen::Dynamic;
template <class T>
using Matrix = Eigen::Matrix<T, Dynamic, Dynamic, Eigen::RowMajor>;
template <class T>
using Rows = Eigen::Map<Eigen::Array<T, Dynamic, Dynamic, Eigen::RowMajor>>;

/// A product of matrices of 32 bits: A is widened at each call, B beforehand where it may be.
template <class A, class B>
Runners multiply(const MatrixMultiplyProblem& p, bool owned) {
  const auto m = static_cast<Eigen::Index>(p.shape.m), k = static_cast<Eigen::Index>(p.shape.k),
             n = static_cast<Eigen::Index>(p.shape.n);
  const auto widened_b = [&p, k, n](Eigen::Index product) {
    const Eigen::Map<const Matrix<B>> b(reinterpret_cast<const B*>(p.b.data()) + product * k * n, k, n);
    return Matrix<std::int32_t>((b.template cast<std::int32_t>().array() - p.b_zero_point).matrix());
  };
  std::vector<Matrix<std::int32_t>> kept;
  for (Eigen::Index i = 0; owned && i < p.shape.products; ++i) kept.push_back(widened_b(i));
  const auto output = std::make_shared<Memory>(p.output_bytes());
  const auto run = [&p, m, k, n, widened_b, kept, output] {
    for (Eigen::Index i = 0; i < p.shape.products; ++i) {
      const Eigen::Map<const Matrix<A>> bytes(reinterpret_cast<const A*>(p.a.data()) + i * m * k, m, k);
      const Matrix<std::int32_t> a = (bytes.template cast<std::int32_t>().array() - p.a_zero_point).matrix();
      Eigen::Map<Matrix<std::int32_t>> to(output->as<std::int32_t>() + i * m * n, m, n);
      if (kept.empty()) {
        to.noalias() = a * widened_b(i);
      } else {
        to.noalias() = a * kept[static_cast<std::size_t>(i)];
      }
    }
  };
  Runners runners;
  runners.ready.push_back({"Eigen", "int32 matrix", true, run, [&p, output] { return p.compare(output->span()); }});
  return runners;
}

/// Scales as an expression of the matrix's sizes.
template <class F>
void with_scales(const QuantizeLinearProblem& p, Eigen::Index rows, Eigen::Index columns, F f) {
  using Constant = Eigen::Map<const Eigen::Array<float, Dynamic, 1>>;
  using Row = Eigen::Map<const Eigen::Array<float, 1, Dynamic>>;
  if (p.scales == "tensor") {
    f(Eigen::Array<float, Dynamic, Dynamic, Eigen::RowMajor>::Constant(rows, columns, p.scale[0]));
  } else if (p.scales == "rows") {
    f(Constant(p.scale.data(), rows).replicate(1, columns));
  } else {
    f(Row(p.scale.data(), columns).replicate(rows, 1));
  }
}

template <class From, class To>
std::function<void()> elements(const QuantizeLinearProblem& p, const std::shared_ptr<Memory>& output) {
  return [&p, output] {
    const Eigen::Index rows = p.matrix.rows, columns = p.matrix.columns;
    const Rows<From> from(p.input.as<From>(), rows, columns);
    Rows<To> to(output->as<To>(), rows, columns);
    const auto zero = static_cast<float>(p.zero_point);
    with_scales(p, rows, columns, [&](const auto& scales) {
      if constexpr (sizeof(To) == 1) {
        const float low = static_cast<float>(std::numeric_limits<To>::min());
        const float high = static_cast<float>(std::numeric_limits<To>::max());
        to = ((from.template cast<float>() / scales).rint() + zero).max(low).min(high).template cast<To>();
      } else {
        to = ((from.template cast<float>() - zero) * scales).template cast<To>();
      }
    });
  };
}

}  // namespace

Runners eigen_matrix_multiply(const MatrixMultiplyProblem& p, bool owned, unsigned threads) {
  Runners runners;
  if (threads > 1 || p.type.quantized || !p.type.b_signed) {
    runners.refused.push_back({"Eigen", "written for one thread and sums of UINT8 by INT8"});
    return runners;
  }
  return multiply<std::uint8_t, std::int8_t>(p, owned);
}

Runners eigen_quantize_linear(const QuantizeLinearProblem& p, unsigned threads) {
  using dmlref::DataType;
  Runners runners;
  const auto output = std::make_shared<Memory>(p.expected.size());
  std::function<void()> run;
  if (p.from == DataType::float32) {
    run = p.to == DataType::int8 ? elements<float, std::int8_t>(p, output) : elements<float, std::uint8_t>(p, output);
  } else if (p.to == DataType::float32 && p.from == DataType::uint8) {
    run = elements<std::uint8_t, float>(p, output);
  }
  if (threads > 1 || !run) {
    runners.refused.push_back({"Eigen", "written for one thread, FLOAT32 and bytes"});
    return runners;
  }
  runners.ready.push_back({"Eigen", "arrays", true, run, [&p, output] { return p.compare(output->span()); }});
  return runners;
}

}  // namespace bench
