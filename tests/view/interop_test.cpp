// interop_test.cpp: views to and from std::span, stand-ins for std::mdspan (which libstdc++ 12 lacks) and for DLTensor.
#include "dmlref/view/interop.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "dmlref/desc/half.hpp"

namespace {

using namespace dmlref;

// --- std::span ----------------------------------------------------------------------------------------------------

constexpr int numbers[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
constexpr TensorView<const int> matrix(numbers, {3, 4});
static_assert(view_of(std::span(numbers)).shape() == Shape{12} && view_of(std::span(numbers))(5) == 5);
static_assert(span_of(matrix)->size() == 12 && !span_of(matrix.flip(0)) && !span_of(matrix.permute({1, 0})));
static_assert(memory_of(matrix.flip(0)).size() == 12 && memory_of(matrix.flip(0))[0] == 0);
static_assert(memory_of(matrix.slice({1, 1}, {2, 2}, {1, 1})).size() == 6 &&
              memory_of(matrix.slice({1, 1}, {2, 2}, {1, 1}))[0] == 5);
static_assert((*try_view_of(std::span(numbers), Layout({3, 4}, {-4, 1}, 8)))(2, 3) == 3);

TEST(Span, AViewStaysInsideItsMemory) {
  std::vector<int> memory(12);
  const std::span<int> span(memory);
  EXPECT_TRUE(try_view_of(span, Layout({3, 4})));
  EXPECT_TRUE(try_view_of(span, Layout({3, 4}, {0, 1}, 8)));
  EXPECT_TRUE(try_view_of(span, Layout({0, 4}, {1, 1}, 99)));  // no elements
  EXPECT_FALSE(try_view_of(span, Layout({3, 5})));
  EXPECT_FALSE(try_view_of(span, Layout({3, 4}, {4, 1}, 1)));
  EXPECT_FALSE(try_view_of(span, Layout({3, 4}, {-4, 1}, 7)));
  EXPECT_FALSE(try_view_of(span, Layout({3, -4})));
  EXPECT_FALSE(try_view_of(span, Layout(Shape::filled(9, 1))));
  EXPECT_FALSE(try_view_of(span, Layout({1}, {1}, std::numeric_limits<Index>::max())));
  EXPECT_EQ(span_of(*try_view_of(span, Layout(Shape{0})))->size(), 0u);
}

// --- std::mdspan --------------------------------------------------------------------------------------------------

template <class Number, std::size_t... fixed>
struct Extents {
  static constexpr std::size_t rank() { return sizeof...(fixed); }
  static constexpr std::size_t static_extent(std::size_t d) { return std::array<std::size_t, rank()>{fixed...}[d]; }
  constexpr Extents() = default;
  explicit constexpr Extents(const std::array<Number, rank()>& e) : numbers(e) {}
  std::array<Number, rank()> numbers{};
};

struct Right {
  template <class E>
  struct mapping {
    constexpr mapping() = default;
    explicit constexpr mapping(const E& e) : extents(e) {}
    constexpr auto stride(std::size_t d) const {
      auto step = extents.numbers[d];
      for (step = 1; ++d < E::rank();) step = static_cast<decltype(step)>(step * extents.numbers[d]);
      return step;
    }
    E extents;
  };
};
struct Strided {
  template <class E>
  struct mapping {
    constexpr mapping() = default;
    constexpr mapping(const E& e, const decltype(E::numbers)& s) : extents(e), strides(s) {}
    constexpr auto stride(std::size_t d) const { return strides[d]; }
    E extents;
    decltype(E::numbers) strides{};
  };
};

template <class T, class E, class L = Right>
struct Mdspan {
  using element_type = T;
  using reference = T&;
  using extents_type = E;
  using mapping_type = typename L::template mapping<E>;
  using index_type = typename decltype(E::numbers)::value_type;
  static constexpr std::size_t rank() { return E::rank(); }
  static constexpr bool is_always_strided() { return true; }
  constexpr Mdspan(T* p, const mapping_type& m) : pointer(p), mapping(m) {}
  constexpr index_type extent(std::size_t d) const { return mapping.extents.numbers[d]; }
  constexpr index_type stride(std::size_t d) const { return static_cast<index_type>(mapping.stride(d)); }
  constexpr T* data_handle() const { return pointer; }
  T* pointer;
  mapping_type mapping;
};

constexpr std::size_t any = std::dynamic_extent;
using Packed = Mdspan<const int, Extents<int, any, any>>;
using Steps = Mdspan<const int, Extents<int, any, any>, Strided>;

static_assert(view_of(*mdspan_of<Packed>(matrix)).layout() == matrix.layout());
static_assert(view_of(*mdspan_of<Steps>(matrix.permute({1, 0})))(3, 1) == 7);
static_assert(!mdspan_of<Packed>(matrix.permute({1, 0})) && !mdspan_of<Packed>(matrix.select(0, 1)));
static_assert(mdspan_of<Mdspan<const int, Extents<int, 3, any>>>(matrix).has_value());
static_assert(!mdspan_of<Mdspan<const int, Extents<int, 4, any>>>(matrix));
static_assert(view_of(*mdspan_of<Mdspan<const int, Extents<int>>>(matrix.select(0, 1).select(0, 2)))() == 6);
static_assert(MdspanLike<Packed> && !MdspanLike<std::span<int>> && !MdspanLike<TensorView<int>>);
static_assert(!MdspanLike<Mdspan<int, Extents<int, 1, 1, 1, 1, 1, 1, 1, 1, 1>>>);  // nine dimensions

TEST(Mdspan, HasNoStridesBelowOneAndNoInterleavedDimensions) {
  EXPECT_FALSE(mdspan_of<Steps>(matrix.flip(1)));
  EXPECT_FALSE(mdspan_of<Steps>(matrix.select(0, 0).broadcast_to({2, 4})));
  EXPECT_FALSE(mdspan_of<Steps>(TensorView<const int>(numbers, {2, 2}, {3, 2})));
  EXPECT_TRUE(mdspan_of<Steps>(TensorView<const int>(numbers, {2, 2}, {4, 2})));
  EXPECT_TRUE(mdspan_of<Steps>(matrix.slice({0, 0}, {1, 4}, {1, 1}).flip(0)));  // never stepped along
  EXPECT_TRUE(mdspan_of<Steps>(matrix.slice({0, 0}, {0, 4}, {1, 1})));
}

TEST(Mdspan, HoldsNumbersThatFitItsIndexType) {
  std::vector<int> memory(200);
  const TensorView<int> view(memory.data(), {10, 20});
  EXPECT_TRUE((mdspan_of<Mdspan<int, Extents<std::int16_t, any, any>, Strided>>(view)));
  EXPECT_FALSE((mdspan_of<Mdspan<int, Extents<std::int8_t, any, any>, Strided>>(view)));
}

// --- DLPack -------------------------------------------------------------------------------------------------------

struct Tensor {  // as DLPack's dlpack.h has it
  void* data;
  struct {
    enum Type : int { cpu = 1, cuda = 2 } device_type;
    std::int32_t device_id;
  } device;
  std::int32_t ndim;
  struct {
    std::uint8_t code, bits;
    std::uint16_t lanes;
  } dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

class DlPack : public testing::Test {
 protected:
  DlPack() { std::iota(std::begin(data), std::end(data), 0.0f); }
  alignas(8) float data[24];
  std::int64_t shape[9] = {2, 3, 1, 1, 1, 1, 1, 1, 1};
  std::int64_t strides[9] = {1, 2, 1, 1, 1, 1, 1, 1, 1};
  Tensor tensor{data, {decltype(Tensor::device)::cpu, 0}, 2, {2, 32, 1}, shape, strides, 0};
};

TEST_F(DlPack, StridesAndOffsetsAreHeeded) {
  tensor.byte_offset = 2 * sizeof(float);
  EXPECT_EQ((*try_view_of<float>(tensor))(1, 2), 7.0f);
  tensor.strides = nullptr;
  EXPECT_EQ((*try_view_of<const float>(tensor))(1, 2), 7.0f);
  EXPECT_TRUE(try_view_of<float>(tensor)->is_contiguous());
  tensor.ndim = 0;
  tensor.shape = nullptr;
  EXPECT_EQ((*try_view_of<float>(tensor))(), 2.0f);
}

TEST_F(DlPack, OtherElementsOtherDevicesAndNonsenseGiveNothing) {
  EXPECT_TRUE(try_view_of<float>(tensor));
  EXPECT_FALSE(try_view_of<std::int32_t>(tensor));
  EXPECT_FALSE(try_view_of<double>(tensor));
  const auto without = [&](const auto& change) {
    Tensor other = tensor;
    change(other);
    return !try_view_of<float>(other);
  };
  EXPECT_TRUE(without([](Tensor& t) { t.dtype.lanes = 4; }));
  EXPECT_TRUE(without([](Tensor& t) { t.device.device_type = decltype(Tensor::device)::cuda; }));
  EXPECT_TRUE(without([](Tensor& t) { t.ndim = -1; }));
  EXPECT_TRUE(without([](Tensor& t) { t.ndim = 9; }));
  EXPECT_TRUE(without([](Tensor& t) { t.shape = nullptr; }));
  EXPECT_TRUE(without([](Tensor& t) { t.shape[1] = -3; }));
  shape[1] = 3;
  EXPECT_TRUE(without([](Tensor& t) { t.data = nullptr; }));
  EXPECT_TRUE(without([](Tensor& t) { t.byte_offset = 2; }));  // unaligned
  EXPECT_TRUE(without([](Tensor& t) { t.strides[0] = std::numeric_limits<std::int64_t>::min(); }));
}

TEST_F(DlPack, TypesAreTold) {
  tensor.dtype = {2, 16, 1};
  EXPECT_TRUE(try_view_of<half>(tensor));
  EXPECT_FALSE(try_view_of<std::int16_t>(tensor));
  tensor.dtype = {0, 64, 1};
  EXPECT_TRUE(try_view_of<std::int64_t>(tensor) && !try_view_of<std::uint64_t>(tensor));
  tensor.dtype = {1, 8, 1};
  EXPECT_TRUE(try_view_of<std::uint8_t>(tensor) && !try_view_of<bool>(tensor));
}

TEST_F(DlPack, AViewGoesThereAndBack) {
  const TensorView<float> view = TensorView<float>(data, {2, 3, 4}).flip(1).permute({2, 0, 1});
  const Tensor made = dlpack_of<Tensor>(view);
  const auto back = try_view_of<float>(made);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->data(), view.data());
  EXPECT_EQ(back->shape(), view.shape());
  EXPECT_EQ(back->strides(), view.strides());
  EXPECT_EQ((*back)(3, 1, 0), 23.0f);
}

template <class View>
concept Lends = requires(View view) {
  dlpack_of<Tensor>(static_cast<View>(view));
};
static_assert(Lends<const TensorView<float>&>);
static_assert(!Lends<TensorView<float>&&>);             // its shape and strides would be gone
static_assert(!Lends<const TensorView<const float>&>);  // anybody may write through a DLTensor

}  // namespace
