// block.hpp: a Winograd convolution: its filter, its constants, and one block of tiles at a time.
//
// With the activations a' as they are staged, unsigned, the weights w' as they are packed, signed, and zero points with
// them:
//   sum (a - za)(w - zw) + bias = sum a' w'  +  (bias - za' sum w' + K za' zw')  -  zw' sum a'
// Padding holds za', so K counts every tap. Where the result may exceed 32 bits (`needs_int64`), the products do not,
// and all else is done in 64 bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/rows.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/plan.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc::winograd {

// The filter: U = G w G^T, packed in the order in which the multiplications read it, and each output channel's sum of
// weights behind it.

/// One kernel, positions `step` elements apart.
inline void transform_kernel(const Transform& t, const Positions& positions, const std::int32_t (&w)[3][3],
                             std::int16_t* u, Index step) noexcept {
  const int n = t.inputs();
  for (int i = 0; i < n; ++i) {
    std::int32_t row[3];
    for (int k = 0; k < 3; ++k) row[k] = t.filter[i][0] * w[0][k] + t.filter[i][1] * w[1][k] + t.filter[i][2] * w[2][k];
    for (int j = 0; j < n; ++j) {
      const Position& p = positions.at[i][j];
      u[(p.first + p.index) * step] =
          // |U|: transform.hpp
          dmlref::detail::narrow<std::int16_t>(row[0] * t.filter[j][0] + row[1] * t.filter[j][1] +
                                               row[2] * t.filter[j][2]);
    }
  }
}

/// Blocks [first, last) of 16 output channels, which share cache lines. Unsigned filters are shifted by -128.
inline void pack_filter(const Plan& p, const std::byte* filter, std::byte* to, Index first, Index last) noexcept {
  const Geometry& g = p.g;
  const Tiling& t = p.tiling;
  const Positions positions = positions_of(t.transform());
  auto* const u = reinterpret_cast<std::int16_t*>(to);
  auto* const sums = reinterpret_cast<std::int32_t*>(to + p.filter_sums_at());
  std::memset(u + t.filter_at(first, 0), 0, static_cast<std::size_t>(2 * (last - first) * t.filter_at(1, 0)));
  std::memset(sums + first * block, 0, static_cast<std::size_t>(4 * (last - first) * block));
  for (Index at = first; at < last; ++at) {
    for (Index split = 0; split < t.splits; ++split) {
      const Index begin = t.split_at(split), end = t.split_at(split + 1);
      for (Index c = begin; c < smaller(end, g.in_channels); ++c) {
        for (Index output = at * block; output < smaller((at + 1) * block, g.out_channels); ++output) {
          const auto* from = reinterpret_cast<const std::uint8_t*>(filter) + output * g.filter.n + c * g.filter.c;
          std::int32_t w[3][3];
          for (Index y = 0; y < 3; ++y) {
            for (Index x = 0; x < 3; ++x) {
              const std::uint8_t byte = from[y * g.filter.y + x * g.filter.x];
              w[y][x] = g.filter_signed ? static_cast<std::int8_t>(byte) : byte - 128;
              sums[output] += w[y][x];
            }
          }
          const Index pair = (c - begin) / 2 * block + output % block;
          transform_kernel(t.transform(), positions, w, u + t.filter_at(at, split) + 2 * pair + c % 2,
                           (end - begin) * block);
        }
      }
    }
  }
}

// What depends on data but not on pixels.

/// What one execute knows.
struct Run : Constants {
  const std::int32_t* offset = nullptr;  // what sums start from
};

/// The tables in `memory`, of constants and the packed filter.
inline void precompute_constants(const Plan& p, const std::byte* const* inputs, const std::byte* packed,
                                 std::byte* memory) noexcept {
  const ChannelBounds bounds = precompute_tables(inputs, p.g, p.tensors, p.constants_at, p.packed_channels(), memory);
  precompute_offsets(inputs, p.g, p.tensors, p.constants_at, bounds, packed + p.filter_sums_at(), p.packed_channels(),
                     0, memory);
}

inline void precompute_owned_constants(const Plan& p, const std::byte* const* inputs, const std::byte* packed,
                                       std::byte* memory) noexcept {
  precompute_constants(p, inputs, packed, memory);
}

/// What an execute knows of them.
inline void bind_constants(const Plan& p, const Buffers& b, const std::byte* packed, const std::byte* memory,
                           Run& run) noexcept {
  bind_tables(b, p.g, p.tensors, p.constants_at, packed, memory, p.packed_channels(), false, run);
  run.offset = reinterpret_cast<const std::int32_t*>(memory + p.constants_at.offset);
}

// The input under a block of tiles is staged as pixels of sixteen-bit channels, unsigned, with its zero point in the
// padding.

/// What is staged: `rows` x `columns` pixels from (y, x) of the input on, which may lie in the padding, in steps of the
/// dilation.
struct StagedPlace {
  Index y, x, rows, columns;
};

/// `count` pixels of one row. Channels that fill up the last block meet weights of 0, whatever they hold.
inline void stage_row(const Plan& p, const std::uint8_t* from, Index count, std::uint8_t flip,
                      std::int16_t* to) noexcept {
  const Geometry& g = p.g;
  const Index step = g.dilation_x * g.in.x, channels = p.tiling.channels;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(to);
  if (g.in.c == 1 && step == channels && g.in_channels == channels) {
    p.kernels.shared->convert(from, count * channels, flip, bytes);
  } else if (g.in.c == 1) {
    for (Index i = 0; i < count; ++i) {
      p.kernels.shared->convert(from + i * step, g.in_channels, flip, bytes + 2 * i * channels);
    }
  } else if (step == 1 && g.in_channels >= block) {
    p.kernels.shared->gather_pixels({from, g.in.c, g.in_channels, count, flip, bytes, 2 * channels});
  } else {
    for (Index c = 0; c < g.in_channels; ++c) {
      for (Index i = 0; i < count; ++i) {
        to[i * channels + c] = dmlref::detail::narrow<std::int16_t>(from[c * g.in.c + i * step] ^ flip);
      }
    }
  }
}

inline void stage_pixels(const Plan& p, const Constants& run, const std::uint8_t* input, const StagedPlace& place,
                         std::int16_t* staged) noexcept {
  const Geometry& g = p.g;
  const Index channels = p.tiling.channels;
  const auto clamped = [&](Index column) { return column < 0 ? 0 : smaller(column, place.columns); };
  // Columns [begin, end) lie inside the image.
  const Index begin = place.x < 0 ? clamped(ceil_div(-place.x, g.dilation_x)) : 0;
  const Index end = place.x >= g.width ? 0 : clamped(ceil_div(g.width - place.x, g.dilation_x));
  const auto zero = dmlref::detail::narrow<std::int16_t>(run.shifted_zero_point);  // 0 … 255
  for (Index r = 0; r < place.rows; ++r, staged += place.columns * channels) {
    const Index y = place.y + r * g.dilation_y;
    if (y < 0 || y >= g.height || begin >= end) {
      std::fill_n(staged, place.columns * channels, zero);
      continue;
    }
    std::fill_n(staged, begin * channels, zero);
    stage_row(p, input + y * g.in.y + (place.x + begin * g.dilation_x) * g.in.x, end - begin, run.input_flip,
              staged + begin * channels);
    std::fill_n(staged + end * channels, (place.columns - end) * channels, zero);
  }
}

/// A block of tiles of some images: transformed, then multiplied with ranges of output channels.
class Block {
 public:
  /// Block `index` of the grid, in the memory of one task.
  Block(const Plan& plan, const Run& run, const TileGrid& grid, std::uint8_t* scratch, Index index) noexcept
      : p_(plan), t_(plan.tiling), g_(plan.g), run_(run), scratch_(scratch) {
    const Range across = range(t_.columns, index % grid.across, grid.across);
    const Range down = range(t_.rows, index / grid.across % grid.down, grid.down);
    const Range deep = range(t_.images, index / grid.across / grid.down, grid.deep);
    column_ = across.first, columns_ = across.count;
    row_ = down.first, rows_ = down.count;
    image_ = deep.first, images_ = deep.count;
  }

  /// V, and the activation row sums that zero-point compensation requires.
  void stage() const noexcept {
    for (Index image = 0; image < images_; ++image) transform_input(image);
  }

  /// Blocks [first, last) of 16 output channels.
  void run(Index first, Index last) const noexcept {
    for (Index channels = first; channels < last; ++channels) run_channels(channels);
  }

 private:
  struct Range {
    Index first, count;
  };
  /// Part `part` of `parts`, which differ by one at most.
  static Range range(Index size, Index part, Index parts) noexcept {
    const Index first = size * part / parts;
    return {first, size * (part + 1) / parts - first};
  }
  /// What an image (a phase of one, if dilated) has of the block: output pixels in steps of the dilation.
  struct Place {
    Index batch, y, x;
    Index rows, columns;  // that exist
  };
  Place place_of(Index i) const noexcept {
    const Index image = image_ + i;
    const Index y = image / t_.phases_x % t_.phases_y + row_ * t_.outputs() * g_.dilation_y;
    const Index x = image % t_.phases_x + column_ * t_.outputs() * g_.dilation_x;
    const auto left = [](Index first, Index size, Index step, Index limit) {
      return first < size ? smaller(ceil_div(size - first, step), limit) : 0;
    };
    return {image / t_.phases_x / t_.phases_y, y, x, left(y, g_.out_height, g_.dilation_y, rows_ * t_.outputs()),
            left(x, g_.out_width, g_.dilation_x, columns_ * t_.outputs())};
  }

  template <class T>
  T* at(Index offset) const noexcept {
    return reinterpret_cast<T*>(scratch_ + offset);
  }
  Index image_pixels() const noexcept { return rows_ * columns_ * t_.outputs() * t_.outputs(); }

  // What a row of tiles reads is staged just before, but for the rows that it shares with the one above.
  void transform_input(Index image) const noexcept {
    const Place place = place_of(image);
    const std::uint8_t* const input = run_.input + place.batch * g_.in.n;
    const Index columns = t_.inputs(columns_), step = t_.outputs() * t_.stride(), pitch = columns * t_.channels;
    for (Index row = 0; row < rows_; ++row) {
      const Index ready = row == 0 ? 0 : t_.inputs(1) - step;
      auto* const staged = at<std::int16_t>(p_.scratch.staged) + row * step * pitch;
      stage_pixels(p_, run_, input,
                   {place.y * t_.stride() - g_.pad_y + (row * step + ready) * g_.dilation_y,
                    place.x * t_.stride() - g_.pad_x, t_.inputs(1) - ready, columns},
                   staged + ready * pitch);
      t_.tiles.input({staged, pitch, t_.channels, t_.channels, columns_, at<std::int16_t>(p_.scratch.v),
                      t_.v_position(), t_.channels, (image * rows_ + row) * columns_});
      if (run_.pixel_terms) sum_windows(staged, columns, image * rows_ + row);
    }
  }

  // The sums over the windows of the pixels of one row of tiles.
  void sum_windows(const std::int16_t* staged, Index columns, Index tile_row) const noexcept {
    const Index rows = t_.inputs(1), outputs = t_.outputs();
    auto* const positions = at<std::int32_t>(p_.scratch.positions);
    p_.kernels.shared->sum_runs(reinterpret_cast<const std::uint8_t*>(staged), g_.in_channels, 2 * t_.channels,
                                rows * columns, positions);
    std::int32_t* sums = at<std::int32_t>(p_.scratch.pixel_sums) + tile_row * columns_ * outputs * outputs;
    for (Index y = 0; y < rows - 2; y += t_.stride()) {
      for (Index x = 0; x < columns - 2; x += t_.stride()) {
        std::int32_t sum = 0;
        for (Index k = 0; k < 3; ++k) {
          const std::int32_t* three = positions + (y + k) * columns + x;
          sum += three[0] + three[1] + three[2];
        }
        *sums++ = sum;
      }
    }
  }

  void run_channels(Index channels) const noexcept {
    const Index row_step = columns_ * t_.outputs() * block;
    auto* const m = at<std::int32_t>(p_.scratch.m);
    auto* const sums = at<std::int32_t>(p_.scratch.sums);
    for (Index split = 0; split < t_.splits; ++split) {
      const Index first = t_.split_at(split);
      p_.kernels.multiply({&t_.transform(), at<std::int16_t>(p_.scratch.v) + first, t_.v_position(), t_.channels,
                           (t_.split_at(split + 1) - first) / 2, images_ * rows_ * columns_,
                           reinterpret_cast<const std::int16_t*>(run_.filter) + t_.filter_at(channels, split), m,
                           t_.m_position()});
      for (Index row = 0; row < images_ * rows_; ++row) {
        t_.tiles.output({m + row * columns_ * block, t_.m_position(), columns_, sums + row * t_.outputs() * row_step,
                         row_step, split == 0 ? SumsBeginWith::offsets : SumsBeginWith::sums,
                         run_.offset + channels * block});
      }
    }
    const Index pixels = images_ * image_pixels(), channel = channels * block;
    auto* const bytes = at<std::uint8_t>(p_.scratch.bytes);
    if (run_.needs_int64) {
      requantize_int64(channel, pixels, sums, bytes);
    } else {
      if (run_.pixel_terms) {
        p_.kernels.shared->add_outer(sums, block, pixels, block, at<std::int32_t>(p_.scratch.pixel_sums),
                                     run_.minus_filter_zero_point + channel);
      }
      p_.kernels.shared->quantize(sums, pixels / 4, run_.requantizer, channel, block, bytes);
    }
    for (Index i = 0; i < images_; ++i) write(place_of(i), bytes + i * image_pixels() * block, row_step, channel);
  }

  void requantize_int64(Index channel, Index pixels, const std::int32_t* sums, std::uint8_t* bytes) const noexcept {
    const auto* const pixel_sums = at<std::int32_t>(p_.scratch.pixel_sums);
    for (Index i = 0; i < pixels * block; ++i) {
      const Index c = channel + i % block;
      std::int64_t sum = sums[i] + run_.int64_offset[c];
      if (run_.pixel_terms) sum += std::int64_t{run_.minus_filter_zero_point[c]} * pixel_sums[i / block];
      bytes[i] = run_.requantizer.exact(sum, c);
    }
  }

  // Writes bytes[row][column][channel].
  void write(const Place& place, std::uint8_t* bytes, Index row_step, Index channel) const noexcept {
    const Index count = smaller(g_.out_channels - channel, block);
    const Index step_y = g_.out.y * g_.dilation_y, step_x = g_.out.x * g_.dilation_x;
    const auto transpose = p_.kernels.shared->transpose;
    std::uint8_t* out =
        run_.output + place.batch * g_.out.n + place.y * g_.out.y + place.x * g_.out.x + channel * g_.out.c;
    const bool planar = step_x == 1 && g_.out.c != 1;
    if (planar && step_y == place.columns) {  // rows touch each other: one line
      for (Index y = 1; y < place.rows && row_step != place.columns * block; ++y) {
        std::memmove(bytes + y * place.columns * block, bytes + y * row_step,
                     static_cast<std::size_t>(place.columns * block));
      }
      return transpose(bytes, block, place.rows * place.columns, count, out, g_.out.c);
    }
    for (Index y = 0; y < place.rows; ++y, bytes += row_step) {
      write_pixels(transpose, bytes, block, place.columns, count, out + y * step_y, g_.out.c, step_x);
    }
  }

  const Plan& p_;
  const Tiling& t_;
  const Geometry& g_;
  const Run& run_;
  std::uint8_t* scratch_;
  Index image_ = 0, images_ = 0;  // the first one, and how many
  Index row_ = 0, rows_ = 0;      // of tiles
  Index column_ = 0, columns_ = 0;
};

// Its base uses blocks, so that a plan is made only where they are known.
inline Plan::Plan(const Problem& problem, const Kernels& of_isa, const Tiling& chosen)
    : BlockedPlan(problem, geometry_of(problem)), kernels(of_isa), tiling(chosen) {
  ScratchLayout persistent, shared, task;
  constants_at.place(persistent, shared, filter_bytes(), packed_channels() + 64, 1);
  persistent_bytes = persistent.size();
  scratch_at = shared.size();

  const Tiling& t = tiling;
  const Index pixels = t.block_images * t.image_pixels();
  scratch.staged = task.take(2 * t.inputs(t.block_rows) * t.staged_columns() * t.channels);
  scratch.v = task.take(2 * t.positions() * t.v_position());
  scratch.m = task.take(4 * t.planes() * t.m_position());
  scratch.sums = task.take(4 * pixels * block);
  scratch.bytes = task.take((pixels + 16) * block);  // transpose reads whole lines
  scratch.pixel_sums = task.take(4 * pixels);
  scratch.positions = task.take(4 * t.inputs(1) * t.staged_columns());
  scratch_bytes = task.size();
  task_count = tasks_with_scratch(*this);
}

}  // namespace fast::qlc::winograd
DMLREF_END
