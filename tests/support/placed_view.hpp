// placed_view.hpp: a tensor at random strides, permuted, padded, mirrored or broadcast, between pages that fault.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "dmlref/desc/tensor_desc.hpp"
#include "dmlref/view/tensor_view.hpp"
#include "support/guarded_buffer.hpp"

namespace dmlref_test {

/// What a view may be; `broadcast` is for inputs.
enum class Strided { own_addresses, broadcast };

template <class T>
class PlacedView {
 public:
  /// Elements by `value(linear index)`; where elements share an address, by the first of them.
  template <class Value>
  PlacedView(std::mt19937_64& random, const dmlref::Dimensions& sizes, Strided kind, Value value)
      : layout_(dmlref::Shape::from<std::uint32_t>(sizes), steps(random, sizes, kind)) {
    const auto elements = static_cast<std::size_t>(layout_.required_span_size());
    const auto side = random() % 2 == 0 ? GuardedBuffer::Side::end : GuardedBuffer::Side::begin;
    memory_ = std::make_unique<GuardedBuffer>(elements * sizeof(T), side);
    for (std::byte& byte : memory_->span()) byte = static_cast<std::byte>(random());
    // From the last to the first, so that the first stays.
    for (dmlref::Index i = dmlref::element_count(layout_.shape); i-- > 0;) {
      view().store(dmlref::unravel(i, layout_.shape), value(static_cast<std::size_t>(i)));
    }
  }

  dmlref::TensorView<T> view() const {
    return {dmlref::DirectAccess<T>{reinterpret_cast<T*>(memory_->data()) - layout_.lowest_index()}, layout_};
  }
  std::span<std::byte> bytes() const { return memory_->span(); }
  bool mirrored() const {
    for (std::size_t d = 0; d < layout_.rank(); ++d) {
      if (layout_.strides[d] < 0 && layout_.shape[d] > 1) return true;
    }
    return false;
  }

  /// The elements in row-major order, padded to a multiple of four bytes.
  std::vector<std::byte> packed() const {
    std::vector<std::byte> bytes((static_cast<std::size_t>(view().size()) * sizeof(T) + 3) / 4 * 4);
    for (dmlref::Index i = 0; i < view().size(); ++i) {
      const T value = view().load(dmlref::unravel(i, layout_.shape));
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
    }
    return bytes;
  }
  /// The memory as it must be once `packed` has been written to the view.
  std::vector<std::byte> with(const std::vector<std::byte>& packed) const {
    std::vector<std::byte> expected(bytes().begin(), bytes().end());
    for (dmlref::Index i = 0; i < view().size(); ++i) {
      const auto at = layout_(dmlref::unravel(i, layout_.shape)) - layout_.lowest_index();
      std::memcpy(expected.data() + static_cast<std::size_t>(at) * sizeof(T),
                  packed.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    }
    return expected;
  }

  std::string describe() const {
    std::ostringstream text;
    for (std::size_t d = 0; d < layout_.rank(); ++d) text << ' ' << layout_.shape[d] << ':' << layout_.strides[d];
    return text.str();
  }

 private:
  static dmlref::Strides steps(std::mt19937_64& random, const dmlref::Dimensions& sizes, Strided kind) {
    const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    std::vector<std::size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (chance(40)) std::shuffle(order.begin(), order.end(), random);
    const bool pads = chance(50), mirrors = chance(60), repeats = kind == Strided::broadcast && chance(25);
    auto strides = dmlref::Strides::filled(sizes.size(), 0);
    dmlref::Index step = pads && chance(30) ? 2 : 1;
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::size_t d = order[i];
      if (repeats && chance(40)) continue;
      strides[d] = mirrors && chance(50) ? -step : step;
      step *= sizes[d];
      if (pads && chance(40)) step += static_cast<dmlref::Index>(random() % 4 + 1);
    }
    return strides;
  }

  dmlref::Layout layout_;
  std::unique_ptr<GuardedBuffer> memory_;
};

/// A view of a tensor's data, repeated where they are too few; tensor and data become the view's packed copy.
template <class T>
PlacedView<T> placed(std::mt19937_64& random, dmlref::TensorDesc& tensor, std::vector<std::byte>& data,
                     Strided kind = Strided::broadcast) {
  tensor = dmlref::TensorDesc(tensor.data_type, tensor.sizes);
  PlacedView<T> view(random, tensor.sizes, kind, [&](std::size_t i) {
    T value;
    std::memcpy(static_cast<void*>(&value), data.data() + i * sizeof(T) % (data.size() / sizeof(T) * sizeof(T)),
                sizeof(T));
    return value;
  });
  data = view.packed();
  return view;
}
template <class T>
std::optional<PlacedView<T>> placed(std::mt19937_64& random, std::optional<dmlref::TensorDesc>& tensor,
                                    std::vector<std::byte>& data) {
  return tensor ? std::optional(placed<T>(random, *tensor, data)) : std::nullopt;
}

template <class T>
std::optional<dmlref::TensorView<const T>> input_view(const std::optional<PlacedView<T>>& view) {
  return view ? std::optional<dmlref::TensorView<const T>>(view->view()) : std::nullopt;
}

}  // namespace dmlref_test
