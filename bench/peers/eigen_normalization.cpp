// eigen_normalization.cpp: normalization composed of Eigen expressions: rows as arrays, other axes as tensors.
#define EIGEN_USE_THREADS
#include <Eigen/Core>
#include <algorithm>
#include <memory>
#include <unsupported/Eigen/CXX11/Tensor>

#include "operators/mean_variance_normalization/cases.hpp"

namespace bench {
namespace {

struct Pool {
  explicit Pool(unsigned count) : pool(static_cast<int>(count)), device(&pool, static_cast<int>(count)) {}
  Eigen::ThreadPool pool;
  Eigen::ThreadPoolDevice device;
};

template <class T>
void rows_of(const NormalizationProblem& p, Rows rows, std::byte* output, Eigen::Index first, Eigen::Index last) {
  using Row = Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>;
  const auto columns = static_cast<Eigen::Index>(rows.columns);
  Eigen::Array<float, 1, Eigen::Dynamic> centered(columns);
  for (Eigen::Index r = first; r < last; ++r) {
    const Row x(p.input.as<T>() + r * columns, columns);
    Row y(static_cast<T*>(static_cast<void*>(output)) + r * columns, columns);
    const float mean = p.tensor.use_mean ? x.template cast<float>().mean() : 0.0f;
    centered = x.template cast<float>() - mean;
    centered *= 1.0f / std::sqrt(centered.square().mean() + p.epsilon);
    if (p.scale_bias) {
      const Row scale(p.scale.as<T>(), columns), bias(p.bias.as<T>(), columns);
      centered = centered * scale.template cast<float>() + bias.template cast<float>();
    }
    if (p.activation == "relu") centered = centered.max(0.0f);
    if (p.activation == "tanh") centered = centered.tanh();
    y = centered.template cast<T>();
  }
}

// Every step of the composition as its own tensor, as the expression API leads one to write it.
template <class T, int Rank, int Reduced, class Device>
void tensor(const NormalizationProblem& p, std::byte* output, Device& device) {
  using Index = Eigen::Index;
  using Full = Eigen::Tensor<float, Rank, Eigen::RowMajor, Index>;
  using Sizes = Eigen::DSizes<Index, Rank>;
  using View = Eigen::TensorMap<Eigen::Tensor<T, Rank, Eigen::RowMajor, Index>>;
  Sizes sizes, ones, repeat, affine_sizes, affine_repeat;
  Eigen::array<int, Reduced> axes;
  for (int d = 0; d < Rank; ++d) {
    const auto k = static_cast<std::size_t>(d);
    sizes[d] = ones[d] = p.tensor.sizes[k];
    repeat[d] = 1;
    affine_sizes[d] = p.scale_bias ? (*p.tensor.scale_bias)[k] : 1;
    affine_repeat[d] = affine_sizes[d] == sizes[d] ? 1 : sizes[d];
  }
  for (std::size_t a = 0; a < Reduced; ++a) {
    axes[a] = static_cast<int>(p.tensor.axes[a]);
    repeat[axes[a]] = sizes[axes[a]];
    ones[axes[a]] = 1;
  }
  const View x(p.input.as<T>(), sizes);
  View y(static_cast<T*>(static_cast<void*>(output)), sizes);
  Full mean(ones), inverse(ones), centered(sizes);
  mean.device(device) = x.template cast<float>().mean(axes).reshape(ones);
  centered.device(device) = x.template cast<float>() - mean.broadcast(repeat);
  inverse.device(device) = (centered.square().mean(axes).reshape(ones) + p.epsilon).rsqrt();
  centered.device(device) = centered * inverse.broadcast(repeat);
  if (p.scale_bias) {
    const View scale(p.scale.as<T>(), affine_sizes), bias(p.bias.as<T>(), affine_sizes);
    centered.device(device) = centered * scale.template cast<float>().broadcast(affine_repeat) +
                              bias.template cast<float>().broadcast(affine_repeat);
  }
  if (p.activation == "relu") centered.device(device) = centered.cwiseMax(0.0f);
  if (p.activation == "tanh") centered.device(device) = centered.tanh();
  y.device(device) = centered.template cast<T>();
}

template <class T, class Device>
bool tensor(const NormalizationProblem& p, std::byte* output, Device& device) {
  const std::size_t rank = p.tensor.sizes.size(), reduced = p.tensor.axes.size();
  if (rank == 4 && reduced == 2) return tensor<T, 4, 2>(p, output, device), true;
  if (rank == 4 && reduced == 3) return tensor<T, 4, 3>(p, output, device), true;
  if (rank == 5 && reduced == 3) return tensor<T, 5, 3>(p, output, device), true;
  return false;
}

template <class T>
Runners make(const NormalizationProblem& p, unsigned threads) {
  Runners runners;
  const auto output = std::make_shared<Memory>(p.bytes());
  const auto pool = threads > 1 ? std::make_shared<Pool>(threads) : nullptr;
  const Rows rows = trailing_rows(p.tensor);
  std::function<void()> run;
  std::string how;
  if (!p.tensor.use_mean && rows.columns <= 1) {
    runners.refused.push_back({"Eigen", "without the mean written for trailing axes only"});
    return runners;
  }
  if (rows.columns > 1 && (!p.scale_bias || p.scale_count() == rows.columns)) {
    how = "array rows";
    run = [&p, rows, output, pool] {
      const auto count = static_cast<Eigen::Index>(rows.rows);
      const auto part = [&](Eigen::Index first, Eigen::Index last) {
        rows_of<T>(p, rows, output->data(), first, last);
      };
      if (pool == nullptr) return part(0, count);
      const auto each = static_cast<double>(rows.columns);
      pool->device.parallelFor(count, Eigen::TensorOpCost(each * 4, each * 4, each * 4), part);
    };
  } else {
    how = "tensor";
    Eigen::DefaultDevice probe;
    if (!tensor<T>(p, output->data(), probe)) {
      runners.refused.push_back({"Eigen", "rank not instantiated here"});
      return runners;
    }
    run = [&p, output, pool] {
      Eigen::DefaultDevice device;
      if (pool == nullptr) {
        tensor<T>(p, output->data(), device);
      } else {
        tensor<T>(p, output->data(), pool->device);
      }
    };
  }
  runners.ready.push_back({"Eigen", how, true, run, [&p, output] { return p.compare(output->span()); }});
  return runners;
}

}  // namespace

Runners eigen_normalization(const NormalizationProblem& p, unsigned threads) {
  return p.half ? make<Eigen::half>(p, threads) : make<float>(p, threads);
}

}  // namespace bench
