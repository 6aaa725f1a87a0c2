// eigen_slice.cpp: windows of Eigen tensors: slice, stridedSlice and reverse, as an Eigen user writes them.
#define EIGEN_USE_THREADS
#include <memory>
#include <unsupported/Eigen/CXX11/Tensor>

#include "operators/slice/cases.hpp"
#include "peers/versions.hpp"

namespace bench {
namespace {

struct Devices {
  explicit Devices(unsigned count) : threads(count) {
    if (count > 1) {
      pool = std::make_unique<Eigen::ThreadPool>(static_cast<int>(count));
      device = std::make_unique<Eigen::ThreadPoolDevice>(pool.get(), static_cast<int>(count));
    }
  }
  template <class To, class Expression>
  void assign(To& to, const Expression& expression) {
    if (device) {
      to.device(*device) = expression;
    } else {
      to = expression;
    }
  }
  unsigned threads;
  std::unique_ptr<Eigen::ThreadPool> pool;
  std::unique_ptr<Eigen::ThreadPoolDevice> device;
};

template <class T, int Rank>
void copy(const SliceProblem& p, Devices& devices, std::byte* output) {
  using Sizes = Eigen::DSizes<Eigen::Index, Rank>;
  using View = Eigen::TensorMap<Eigen::Tensor<T, Rank, Eigen::RowMajor, Eigen::Index>>;
  Sizes sizes, out_sizes, offsets, window, strides, stop;
  Eigen::array<bool, Rank> reversed;
  bool any_reversed = false, any_stride = false, whole = true;
  for (int d = 0; d < Rank; ++d) {
    const auto k = static_cast<std::size_t>(d);
    sizes[d] = p.window.sizes[k];
    out_sizes[d] = p.output_sizes[k];
    offsets[d] = p.window.offsets[k];
    window[d] = p.window.window[k];
    strides[d] = std::abs(p.window.strides[k]);
    stop[d] = offsets[d] + window[d];
    reversed[k] = p.window.strides[k] < 0;
    any_reversed = any_reversed || reversed[k];
    any_stride = any_stride || strides[d] > 1;
    whole = whole && sizes[d] == window[d];
  }
  const View in(p.input.as<T>(), sizes);
  View out(static_cast<T*>(static_cast<void*>(output)), out_sizes);
  if (!any_reversed) {
    if (any_stride) {
      devices.assign(out, in.stridedSlice(offsets, stop, strides));
    } else {
      devices.assign(out, in.slice(offsets, window));
    }
  } else if (whole && !any_stride) {
    devices.assign(out, in.reverse(reversed));
  } else {
    devices.assign(out, in.slice(offsets, window).reverse(reversed).stride(strides));
  }
}

template <class T>
bool copy(const SliceProblem& p, Devices& devices, std::byte* output) {
  switch (p.window.sizes.size()) {
    case 1: return copy<T, 1>(p, devices, output), true;
    case 2: return copy<T, 2>(p, devices, output), true;
    case 4: return copy<T, 4>(p, devices, output), true;
    case 5: return copy<T, 5>(p, devices, output), true;
    case 8: return copy<T, 8>(p, devices, output), true;
    default: return false;
  }
}

bool copy(const SliceProblem& p, Devices& devices, std::byte* output) {
  switch (p.element_size) {
    case 1: return copy<std::uint8_t>(p, devices, output);
    case 2: return copy<Eigen::half>(p, devices, output);
    case 4: return copy<float>(p, devices, output);
    default: return copy<double>(p, devices, output);
  }
}

}  // namespace

std::string eigen_version() {
  return std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION);
}

Runners eigen_slice(const SliceProblem& p, unsigned threads) {
  Runners runners;
  const auto output = std::make_shared<Memory>(p.expected.size());
  const auto devices = std::make_shared<Devices>(threads);
  if (!copy(p, *devices, output->data())) {
    runners.refused.push_back({"Eigen", "rank not instantiated here"});
    return runners;
  }
  runners.ready.push_back({"Eigen", "tensor", true, [&p, devices, output] { copy(p, *devices, output->data()); },
                           [&p, output] { return p.compare(output->span()); }});
  return runners;
}

}  // namespace bench
