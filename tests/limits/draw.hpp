// draw.hpp: random descriptors that validation accepts, with few products and elements and with numbers at their
// limits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "dmlref/desc/operator_desc.hpp"
#include "limits/work.hpp"
#include "support/extreme_numbers.hpp"

namespace dmlref_test::limits {

using dmlref::DataType;
using dmlref::Dimensions;
using dmlref::TensorDesc;

/// How a tensor lies in memory. Inputs may repeat elements.
enum class Direction { input, output };

/// `channels_last` is offered as an order where there are channels.
inline std::optional<Dimensions> draw_strides(ExtremeRandom& random, const Dimensions& sizes, Direction direction) {
  const std::size_t rank = sizes.size();
  if (random.one_in(3)) return std::nullopt;
  if (direction == Direction::input && random.one_in(8)) return input_strides(random, sizes);
  if (random.one_in(8)) return output_strides(random, sizes);
  std::vector<std::size_t> order = random.order(rank);
  if (random.one_in(2)) std::sort(order.begin(), order.end());
  if (rank >= 3 && random.one_in(3)) {
    std::sort(order.begin(), order.end());
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  }
  const std::uint64_t kind = random.from(0, 3);  // 0: dense; 1: small gaps; else one or more steps are far
  const std::uint64_t chosen = random.from(0, rank - 1);
  std::size_t level = 0;
  Dimensions strides = nested_strides(random, sizes, order, [&](std::uint64_t low, std::uint64_t high) {
    const bool here = kind == 1 ? random.one_in(2) : kind == 2 ? level == chosen : kind == 3 && random.one_in(3);
    ++level;
    if (!here) return low;
    return kind == 1 ? std::min(high, low + random.from(0, 5)) : std::uint64_t{random.extreme(low, high)};
  });
  if (direction == Direction::input && random.one_in(5)) {
    for (std::uint32_t& stride : strides) stride = random.one_in(2) ? 0 : stride;
  }
  return strides;
}

inline TensorDesc draw_tensor(ExtremeRandom& random, DataType type, const Dimensions& sizes, Direction direction) {
  TensorDesc tensor(type, sizes, draw_strides(random, sizes, direction));
  // Bytes beyond the last element, so that a buffer that ends with a page begins at an odd address.
  if (random.one_in(4) && tensor.total_size_in_bytes + 7 <= std::uint64_t{largest_number} * size_of(type)) {
    tensor.total_size_in_bytes += random.from(1, 7);
  }
  if (random.one_in(8)) tensor.guaranteed_base_offset_alignment = 1u << random.from(3, 31);
  if (direction == Direction::input && random.one_in(6)) tensor.owned_by_dml = true;
  return tensor;
}

/// What the newest level accepts for a tensor: a member of a desc.
template <auto Member>
constexpr const dmlref::TensorSupport& support_of = dmlref::schema::field_of(Member).support.back();

template <auto Member>
DataType draw_type(ExtremeRandom& random) {
  for (;;) {
    const auto type = static_cast<DataType>(random.number(1, 11));
    if (support_of<Member>.types.contains(type)) return type;
  }
}
template <auto Member>
std::size_t draw_rank(ExtremeRandom& random) {
  return random.from(support_of<Member>.min_rank, support_of<Member>.max_rank);
}

/// Of an operator that computes each element, or each group of some, from few.
inline Dimensions draw_sizes(ExtremeRandom& random, std::size_t rank) {
  if (random.one_in(12)) return large_sizes(random, rank);  // planned only
  Dimensions sizes = small_sizes(random, rank, random.one_in(6) ? 4000 : 200);
  if (random.one_in(6)) {  // one long dimension
    std::fill(sizes.begin(), sizes.end(), 1u);
    sizes[random.from(0, rank - 1)] = random.number(1, 5000);
    sizes[random.from(0, rank - 1)] = random.number(1, 3);
  }
  return sizes;
}

// ---- slices ----

/// Sizes of the input and of the output with the window between them.
struct Window {
  Dimensions in, out, offsets, sizes, strides;  // strides: magnitudes
};
inline Window draw_window(ExtremeRandom& random, std::size_t rank, std::uint64_t longest_stride) {
  Window w{Dimensions(rank), Dimensions(rank), Dimensions(rank), Dimensions(rank), Dimensions(rank)};
  const bool far = !random.one_in(4);  // the input's sizes are what the window needs, or anything
  std::uint64_t elements = random.one_in(8) ? 1u << 14 : 300, room = largest_number;
  const std::uint64_t wide = random.from(0, rank - 1);
  for (const std::size_t d : random.order(rank)) {
    const std::uint64_t usual = d == wide ? (random.one_in(4) ? 3000 : 70) : 5;
    std::uint64_t left = room;
    if (!far) left = std::min<std::uint64_t>(left, 12 * usual);
    w.in[d] = random.extreme(1, left);
    w.out[d] = random.number(1, std::min<std::uint64_t>({elements, w.in[d], usual}));
    if (!far && random.one_in(2)) w.in[d] = w.out[d];
    elements /= w.out[d];
    room /= w.in[d];
    const std::uint64_t steps = w.out[d] - 1;
    const std::uint64_t high = steps == 0 ? longest_stride : std::min(longest_stride, (w.in[d] - 1) / steps);
    w.strides[d] = random.one_in(2) ? static_cast<std::uint32_t>(std::min<std::uint64_t>(random.from(1, 4), high))
                                    : random.extreme(1, high);
    const std::uint64_t least = std::min<std::uint64_t>(steps * w.strides[d] + 1, w.in[d]);
    w.sizes[d] = random.one_in(2) ? static_cast<std::uint32_t>(least) : random.extreme(least, w.in[d]);
    w.offsets[d] = random.extreme(0, w.in[d] - w.sizes[d]);
  }
  return w;
}

inline dmlref::OperatorDesc draw_slice(ExtremeRandom& random) {
  const auto type = draw_type<&dmlref::SliceDesc::input>(random);
  Window w = draw_window(random, draw_rank<&dmlref::SliceDesc::input>(random), largest_number);
  for (std::size_t d = 0; d < w.out.size(); ++d) {
    const std::uint64_t last = w.offsets[d] + std::uint64_t{w.out[d] - 1} * w.strides[d];
    if (last >= w.in[d]) w.offsets[d] = 0;
    if (random.one_in(16)) w.strides[d] = 0;  // repeats one element
  }
  return dmlref::SliceDesc{draw_tensor(random, type, w.in, Direction::input),
                           draw_tensor(random, type, w.out, Direction::output), w.offsets, w.out, w.strides};
}

inline dmlref::OperatorDesc draw_slice1(ExtremeRandom& random) {
  const auto type = draw_type<&dmlref::Slice1Desc::input>(random);
  constexpr std::int32_t lowest = (std::numeric_limits<std::int32_t>::min)();
  const Window w = draw_window(random, draw_rank<&dmlref::Slice1Desc::input>(random), 0x7FFFFFFF);
  std::vector<std::int32_t> strides(w.strides.begin(), w.strides.end());
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (random.one_in(2)) strides[d] = -strides[d];
    const bool far = w.out[d] == 1 || (w.out[d] == 2 && w.sizes[d] > 0x80000000u);
    if (far && random.one_in(4)) strides[d] = lowest;
  }
  return dmlref::Slice1Desc{draw_tensor(random, type, w.in, Direction::input),
                            draw_tensor(random, type, w.out, Direction::output), w.offsets, w.sizes, strides};
}

// ---- convolutions ----

/// One spatial dimension.
struct Way {
  std::uint32_t in = 1, kernel = 1, stride = 1, dilation = 1, start = 0, end = 0, out = 1;
};

inline std::uint64_t padded(const Way& way) { return std::uint64_t{way.in} + way.start + way.end; }
inline std::uint64_t dilated(const Way& way) { return std::uint64_t{way.kernel - 1} * way.dilation + 1; }
inline bool has_outputs(const Way& way) { return padded(way) >= dilated(way); }
inline std::uint64_t outputs(const Way& way) { return (padded(way) - dilated(way)) / way.stride + 1; }

/// An ordinary way over a few elements: what layers have.
inline Way draw_near_way(ExtremeRandom& random) {
  Way way;
  way.in = random.number(1, random.one_in(4) ? 40 : 9);
  way.kernel = random.number(1, random.one_in(4) ? 7 : 3);
  way.dilation = random.one_in(4) ? random.number(1, 4) : 1;
  way.stride = random.one_in(3) ? random.number(1, 3) : 1;
  way.start = random.one_in(2) ? random.number(0, 3) : 0;
  way.end = random.one_in(2) ? random.number(0, 3) : 0;
  return way;
}

/// Sizes, paddings, dilations and strides of any magnitude; at most `in` elements and `kernel` taps.
inline Way draw_far_way(ExtremeRandom& random, std::uint64_t in, std::uint64_t kernel) {
  Way way;
  way.in = random.one_in(3) ? random.extreme(1, in) : random.number(1, std::min<std::uint64_t>(in, 7));
  way.kernel = random.one_in(4) ? random.extreme(1, kernel) : random.number(1, std::min<std::uint64_t>(kernel, 4));
  if (random.one_in(4)) {  // padding the same
    way.dilation = random.extreme(1, largest_number / way.kernel);
    way.start = static_cast<std::uint32_t>((dilated(way) - 1) / 2);
    way.end = static_cast<std::uint32_t>(dilated(way) - 1 - way.start);
    if (random.one_in(2)) return way;
  } else {
    way.start = random.one_in(2) ? random.extreme(0, largest_number) : random.number(0, 3);
    way.end = random.one_in(2) ? random.extreme(0, largest_number) : random.number(0, 3);
    if (padded(way) < way.kernel) way.start = way.kernel;
    way.dilation = random.extreme(1, way.kernel == 1 ? largest_number : (padded(way) - 1) / (way.kernel - 1));
  }
  const std::uint64_t steps = padded(way) - dilated(way);
  if (random.one_in(16)) return way;  // many outputs: planned only
  way.stride = random.extreme(std::min<std::uint64_t>(steps / 8 + 1, largest_number), largest_number);
  return way;
}

/// Channels of one group.
struct Channels {
  std::uint32_t batch = 1, groups = 1, in = 1, out = 1;
};
inline Channels draw_channels(ExtremeRandom& random) {
  switch (random.from(0, 5)) {
    case 0: return {random.number(1, 2), random.number(1, 3), random.number(1, 5), random.number(1, 5)};
    case 1: return {1, 1, random.number(1, 70), random.number(1, 70)};
    case 2: return {1, random.number(1, 4), random.number(1, 17), random.number(1, 40)};
    case 3: return {random.number(1, 2), random.number(1, 70), 1, 1};
    case 4: return {1, 1, random.number(16, 200), random.number(1, 40)};
    default: return {random.number(1, 3), 1, random.number(1, 4), random.number(1, 20)};
  }
}

/// Many channels under each output: sums beyond 32 bits.
inline std::uint32_t draw_depth(ExtremeRandom& random) {
  // Where a sum of K products passes 2^31 and 2^32: of two bytes, of one, of one less 128; and K that are rounded up.
  constexpr std::uint32_t steps[] = {33025,   66051,    65536,    131072,   131080,  133144,
                                     8421504, 16843009, 16777216, 16909320, 4194304, 8388608};
  const std::uint32_t step = steps[random.one_in(4) ? random.from(0, 11) : random.from(0, 5)];
  return step - 4 + random.number(0, 12);
}

struct Convolution {
  Channels channels;
  std::array<Way, 2> ways;
  std::size_t spatial = 2;
};

inline Convolution draw_geometry(ExtremeRandom& random) {
  Convolution c;
  c.spatial = random.one_in(4) ? 1 : 2;
  const std::uint64_t kind = random.from(0, 63);
  if (kind == 0) {                                                     // many groups
    const std::uint64_t groups = random.one_in(4) ? 1u << 22 : 65536;  // (so many are planned only)
    c.channels = {1, random.extreme(1, groups), random.number(1, 5), random.number(1, 5)};
    for (Way& way : c.ways) way.in = random.number(1, 2);
  } else if (kind == 1) {  // deep, by channels or by taps
    const std::uint32_t depth = draw_depth(random);
    Way& way = c.ways[1];
    if (random.one_in(2)) {
      c.channels.in = depth;
      way.in = random.number(1, 2);
    } else {
      c.channels.in = random.number(1, 4);
      way.in = way.kernel = depth / c.channels.in;
      way.in += random.number(0, 1);
    }
    c.channels.out = random.number(1, depth > 1000000 ? 1 : 3);
  } else {
    c.channels = draw_channels(random);
    const bool far = random.one_in(2);
    std::uint64_t in = largest_number / (std::uint64_t{c.channels.batch} * c.channels.groups * c.channels.in);
    std::uint64_t kernel = largest_number / (std::uint64_t{c.channels.groups} * c.channels.in * c.channels.out);
    for (std::size_t d = 2 - c.spatial; d < 2; ++d) {
      Way& way = c.ways[d];
      way = far && !random.one_in(3) ? draw_far_way(random, in, kernel) : draw_near_way(random);
      in /= std::min<std::uint64_t>(in, way.in);
      kernel /= std::min<std::uint64_t>(kernel, way.kernel);
    }
  }
  return c;
}

template <Convolving Desc>
dmlref::OperatorDesc draw_convolution(ExtremeRandom& random) {
  Convolution c = draw_geometry(random);
  const Channels& channels = c.channels;
  Desc desc;
  Dimensions in{channels.batch, channels.groups * channels.in}, filter{channels.groups * channels.out, channels.in};
  Dimensions out{channels.batch, channels.groups * channels.out};
  for (std::size_t d = 2 - c.spatial; d < 2; ++d) {
    Way& way = c.ways[d];
    way.out = has_outputs(way) ? static_cast<std::uint32_t>(std::min<std::uint64_t>(outputs(way), largest_number)) : 1;
    in.push_back(way.in);
    filter.push_back(way.kernel);
    out.push_back(way.out);
    desc.strides.push_back(way.stride);
    desc.dilations.push_back(way.dilation);
    desc.start_padding.push_back(way.start);
    desc.end_padding.push_back(way.end);
  }
  desc.group_count = channels.groups;
  const auto in_type = draw_type<&Desc::input>(random), filter_type = draw_type<&Desc::filter>(random);
  const auto out_type = draw_type<&Desc::output>(random);
  const auto input = [&](DataType type, const Dimensions& sizes) {
    return draw_tensor(random, type, sizes, Direction::input);
  };
  const Dimensions per_channel = [&] {
    Dimensions sizes(out.size(), 1);
    sizes[1] = out[1];
    return sizes;
  }();
  const auto one = [&] { return random.one_in(4) ? Dimensions{1} : Dimensions(out.size(), 1); };
  const auto one_or_each = [&] {
    if (random.one_in(3)) return one();
    return random.one_in(4) ? Dimensions{out[1]} : per_channel;
  };
  desc.input = input(in_type, in);
  if (random.one_in(2)) desc.input_zero_point = input(in_type, one());
  desc.filter = input(filter_type, filter);
  if (random.one_in(2)) desc.filter_zero_point = input(filter_type, one_or_each());
  if constexpr (requires { desc.output_scale; }) {
    desc.input_scale = input(DataType::float32, one());
    desc.filter_scale = input(DataType::float32, one_or_each());
    if (random.one_in(2)) desc.bias = input(DataType::int32, per_channel);
    desc.output_scale = input(DataType::float32, one());
    if (random.one_in(2)) desc.output_zero_point = input(out_type, one());
  }
  desc.output = draw_tensor(random, out_type, out, Direction::output);
  return desc;
}

// ---- matrix products ----

/// So many independent products of an M x K matrix and a K x N matrix.
struct ProductSizes {
  Dimensions outer;
  std::uint32_t m = 1, k = 1, n = 1;
};
inline ProductSizes draw_product_sizes(ExtremeRandom& random, std::size_t rank) {
  ProductSizes s{Dimensions(rank - 2, 1)};
  const std::uint64_t kind = random.from(0, 23);
  if (kind == 0) {  // deep: sums beyond 32 bits
    s.k = draw_depth(random);
    s.m = random.number(1, s.k > 1000000 ? 1 : 3);
    s.n = random.number(1, s.k > 1000000 ? 1 : 3);
  } else if (kind == 1) {  // many products
    for (std::uint32_t& size : s.outer) size = random.extreme(1, random.one_in(4) ? 1u << 11 : 256);
    s.m = random.number(1, 3);
    s.k = random.number(1, 3);
    s.n = random.number(1, 3);
  } else if (kind < 6) {  // sizes of any magnitude; most are planned only
    std::uint64_t room = largest_number;
    for (std::uint32_t& size : s.outer) {
      size = random.one_in(2) ? 1 : random.extreme(1, room);
      room /= size;
    }
    std::uint32_t* const sizes[] = {&s.m, &s.k, &s.n};
    std::uint64_t largest = 1;  // any two make a matrix
    for (const std::size_t i : random.order(3)) {
      *sizes[i] = random.one_in(3) ? random.number(1, std::min<std::uint64_t>(room / largest, 3))
                                   : random.extreme(1, room / largest);
      largest = std::max<std::uint64_t>(largest, *sizes[i]);
    }
  } else {
    for (std::uint32_t& size : s.outer) size = random.number(1, 3);
    const std::uint64_t most = random.one_in(3) ? 100 : 20;
    s.m = random.number(1, most);
    s.k = random.number(1, random.one_in(6) ? 600 : most);
    s.n = random.number(1, random.one_in(6) ? 600 : most);
    if (random.one_in(4)) (random.one_in(2) ? s.m : s.n) = 1;
  }
  return s;
}

template <Multiplying Desc>
dmlref::OperatorDesc draw_product(ExtremeRandom& random) {
  const auto rank = draw_rank<&Desc::a>(random);
  const ProductSizes s = draw_product_sizes(random, rank);
  const auto matrix = [&](std::uint32_t rows, std::uint32_t columns) {
    Dimensions sizes = s.outer;
    sizes.insert(sizes.end(), {rows, columns});
    return sizes;
  };
  const auto a_type = draw_type<&Desc::a>(random), b_type = draw_type<&Desc::b>(random);
  const auto out_type = draw_type<&Desc::output>(random);
  const auto input = [&](DataType type, const Dimensions& sizes) {
    return draw_tensor(random, type, sizes, Direction::input);
  };
  // One value, or one per row or column. All parameters of an operator with scales have one rank.
  constexpr bool scaled = requires(Desc d) { d.a_scale; };
  const auto common_rank = draw_rank<&Desc::a_zero_point>(random);
  const auto parameter = [&](DataType type, std::uint32_t count, bool is_row) {
    const std::size_t p = scaled ? common_rank : draw_rank<&Desc::a_zero_point>(random);
    Dimensions sizes(p, 1);
    const bool fits = p > 1 || !is_row || !scaled;
    if (fits && !random.one_in(3)) sizes[is_row && p > 1 ? p - 2 : p - 1] = count;
    return input(type, sizes);
  };
  const auto rows = [&](DataType type) { return parameter(type, s.m, true); };
  const auto columns = [&](DataType type) { return parameter(type, s.n, false); };
  Desc desc;
  desc.a = input(a_type, matrix(s.m, s.k));
  if (random.one_in(2)) desc.a_zero_point = rows(a_type);
  desc.b = input(b_type, matrix(s.k, s.n));
  if (random.one_in(2)) desc.b_zero_point = columns(b_type);
  if constexpr (scaled) {
    desc.a_scale = rows(DataType::float32);
    desc.b_scale = columns(DataType::float32);
    desc.output_scale = rows(DataType::float32);
    if (random.one_in(2)) desc.output_zero_point = rows(out_type);
  }
  desc.output = draw_tensor(random, out_type, matrix(s.m, s.n), Direction::output);
  return desc;
}

// ---- quantizing and dequantizing elements ----

/// A parameter of the data's sizes: by stride 0 one for all, or one for each place along a dimension.
inline TensorDesc draw_repeated(ExtremeRandom& random, DataType type, const Dimensions& sizes) {
  TensorDesc tensor = draw_tensor(random, type, sizes, Direction::input);
  if (random.one_in(4)) return tensor;
  Dimensions strides(sizes.size(), 0);
  if (random.one_in(2)) {
    const std::size_t d = random.from(0, sizes.size() - 1);
    const std::uint64_t most = sizes[d] == 1 ? largest_number : (largest_number - 1) / (sizes[d] - 1);
    strides[d] = random.one_in(2) ? 1 : random.extreme(0, most);
  }
  const bool owned = tensor.owned_by_dml;
  tensor = TensorDesc(type, sizes, strides);
  tensor.owned_by_dml = owned;
  return tensor;
}

template <QuantizingElements Desc>
dmlref::OperatorDesc draw_quantize_linear(ExtremeRandom& random) {
  constexpr bool quantizes = std::is_same_v<Desc, dmlref::ElementWiseQuantizeLinearDesc>;
  Dimensions sizes = draw_sizes(random, draw_rank<&Desc::input>(random));
  if (random.one_in(32)) {  // enough for several tasks
    std::fill(sizes.begin(), sizes.end(), 1u);
    sizes[random.from(0, sizes.size() - 1)] = random.number(1, 1u << 17);
    sizes[random.from(0, sizes.size() - 1)] *= random.number(1, 2);
  }
  const auto in = draw_type<&Desc::input>(random), out = draw_type<&Desc::output>(random);
  const auto scale = !quantizes ? out : in == DataType::int32 ? DataType::float32 : in;
  Desc desc;
  desc.input = draw_tensor(random, in, sizes, Direction::input);
  desc.scale = draw_repeated(random, scale, sizes);
  if (!random.one_in(3)) desc.zero_point = draw_repeated(random, quantizes ? out : in, sizes);
  desc.output = draw_tensor(random, out, sizes, Direction::output);
  return desc;
}

// ---- normalizations ----

inline float draw_parameter(ExtremeRandom& random) {
  constexpr float values[] = {0.0f,
                              -0.0f,
                              1.0f,
                              -1.0f,
                              0.5f,
                              1e-45f,
                              -1e-40f,
                              1e38f,
                              -3e38f,
                              2.0f,
                              1e-20f,
                              1e20f,
                              1e-8f,
                              88.0f,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
  return values[random.from(0, std::size(values) - 1)];
}

inline dmlref::Activation draw_activation(ExtremeRandom& random) {
  const auto& info = dmlref::activation_table[random.from(0, dmlref::activation_table.size() - 1)];
  dmlref::Activation activation = dmlref::default_activation(info.type);
  if (random.one_in(2)) {
    for (float& parameter : activation.parameters) parameter = draw_parameter(random);
  }
  return activation;
}

template <class Desc>
void draw_rest_of_normalization(ExtremeRandom& random, Desc& desc, const Dimensions& sizes) {
  const auto type = draw_type<&Desc::input>(random);
  const auto repeated = [&] {
    Dimensions some = sizes;
    for (std::uint32_t& size : some) size = random.one_in(2) ? 1 : size;
    return some;
  };
  desc.input = draw_tensor(random, type, sizes, Direction::input);
  if (random.one_in(2)) desc.scale = draw_tensor(random, type, repeated(), Direction::input);
  if (random.one_in(2)) desc.bias = draw_tensor(random, type, repeated(), Direction::input);
  desc.output = draw_tensor(random, type, sizes, Direction::output);
  if constexpr (requires { desc.use_mean; }) {
    desc.use_mean = random.one_in(4);
    desc.use_variance = !random.one_in(4);
  } else {
    desc.normalize_variance = !random.one_in(4);
  }
  constexpr float epsilons[] = {0.0f,
                                -0.0f,
                                1e-45f,
                                1e-30f,
                                1.0f,
                                1e38f,
                                -1.0f,
                                -1e-6f,
                                std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};
  if (random.one_in(3)) desc.epsilon = epsilons[random.from(0, std::size(epsilons) - 1)];
  if (random.one_in(3)) desc.fused_activation = draw_activation(random);
}

inline dmlref::OperatorDesc draw_normalization(ExtremeRandom& random) {
  dmlref::MeanVarianceNormalizationDesc desc;
  draw_rest_of_normalization(random, desc, draw_sizes(random, 4));
  desc.cross_channel = random.one_in(2);
  return desc;
}

/// MVN1, or MVN2.
template <class Desc>
dmlref::OperatorDesc draw_normalization_over_axes(ExtremeRandom& random) {
  const auto rank = draw_rank<&Desc::input>(random);
  Desc desc;
  draw_rest_of_normalization(random, desc, draw_sizes(random, rank));
  const std::uint64_t count = random.from(random.one_in(16) ? 0 : 1, rank);
  for (const std::size_t axis : random.order(rank)) {
    if (desc.axes.size() < count) desc.axes.push_back(static_cast<std::uint32_t>(axis));
  }
  return desc;
}

/// Any operator; convolutions, which have the most numbers, more often.
inline dmlref::OperatorDesc draw(ExtremeRandom& random) {
  switch (random.from(0, 15)) {
    case 0: return draw_slice(random);
    case 1: return draw_slice1(random);
    case 2: return draw_normalization(random);
    case 3: return draw_normalization_over_axes<dmlref::MeanVarianceNormalization1Desc>(random);
    case 4:
    case 5: return draw_normalization_over_axes<dmlref::MeanVarianceNormalization2Desc>(random);
    case 6: return draw_quantize_linear<dmlref::ElementWiseQuantizeLinearDesc>(random);
    case 7: return draw_quantize_linear<dmlref::ElementWiseDequantizeLinearDesc>(random);
    case 8: return draw_product<dmlref::MatrixMultiplyIntegerDesc>(random);
    case 9: return draw_product<dmlref::QuantizedLinearMatrixMultiplyDesc>(random);
    case 10:
    case 11: return draw_convolution<dmlref::ConvolutionIntegerDesc>(random);
    default: return draw_convolution<dmlref::QuantizedLinearConvolutionDesc>(random);
  }
}

}  // namespace dmlref_test::limits
