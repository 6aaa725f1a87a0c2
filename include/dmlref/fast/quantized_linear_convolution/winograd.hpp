// winograd.hpp: 3x3 convolutions with a fourth, or little more than half, of the multiplications (with a stride of 2
// two thirds), exactly.
//
//   input ──► stage ──► B^T x B ──► V                        per block of tiles
//                                   │  position by position
//   filter ──► G w G^T ──► U ───────┴──► M ──► A^T M A ──► sums ──► requantize ──► write      per 16 output channels
//              once, at initialize
//
// transform.hpp has the algebra and why nothing is lost. Tiles overlap by two pixels at the input (with a stride of 2
// by one) and not at all at the output; what the last ones compute beyond the image is not written.
//
// With w' the weights as they are packed (unsigned ones less 128), zw' their zero points, and padding that is 0:
//   sum (x - zx)(w - zw) + bias = sum (x - zx) w' + bias - zw' sum (x - zx)
// The last sum is over the pixel's window, and only there if some zw' is not 0.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/buffers.hpp"
#include "dmlref/fast/quantized_linear_convolution/channels.hpp"
#include "dmlref/fast/quantized_linear_convolution/pieces.hpp"
#include "dmlref/fast/quantized_linear_convolution/pixels.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/requantizer.hpp"
#include "dmlref/fast/quantized_linear_convolution/tasks.hpp"
#include "dmlref/fast/quantized_linear_convolution/winograd/filter.hpp"
#include "dmlref/fast/quantized_linear_convolution/winograd/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/winograd/plan.hpp"
#include "dmlref/fast/quantized_linear_convolution/winograd/staging.hpp"

DMLREF_BEGIN
namespace fast {

class WinogradConvolution {
 public:
  /// What one execute knows.
  struct Run {
    const std::uint8_t* input = nullptr;
    std::uint8_t* output = nullptr;
    const std::int16_t* filter = nullptr;
    const std::int32_t* offset = nullptr;      // what sums start from: the bias, or 0 if `wide`
    const std::int32_t* minus_zero = nullptr;  // of the filter, shifted
    const std::int32_t* bias = nullptr;
    qlc::Requantizer requantizer;
    std::uint8_t flip = 0;
    std::int32_t input_zero = 0;  // of the flipped input
    bool pixel_terms = false;     // some zero point of the filter, shifted, is not 0
    bool wide = false;            // sums may exceed 32 bits
  };

  /// `outputs`: the size of a tile, 2 or 4; 0: whichever is faster.
  WinogradConvolution(const qlc::Problem& problem, const qlc::winograd::Kernels& kernels, int outputs = 0)
      : g_(qlc::geometry_of(problem)), kernels_(kernels), tensors_(problem) {
    if (!problem.inputs[qlc::filter_tensor].owned) return;
    for (const qlc::winograd::Tiles& tiles : kernels.tiles) {
      const qlc::winograd::Transform& t = *tiles.transform;
      if (!qlc::winograd::suits(g_, t) || (outputs != 0 && outputs != t.outputs)) continue;
      const qlc::winograd::Tiling tiling = qlc::winograd::make_tiling(g_, tiles);
      if (usable_ && tiling_.cost() <= tiling.cost()) continue;
      tiling_ = tiling;
      usable_ = true;
    }
    if (usable_) place_memory();
  }

  /// 3x3 with stride 1, or 2 without dilation, one group, and a filter that is there at initialize.
  bool usable() const noexcept { return usable_; }
  std::string_view strategy_name() const noexcept { return "winograd"; }
  /// Whether this is the faster way than multiplying every tap, which is nearer to the peak.
  bool worthwhile() const noexcept {
    const double direct = static_cast<double>(g_.batch * g_.out_height * g_.out_width) *
                          static_cast<double>(g_.depth() * qlc::round_up(g_.out_channels, 8));
    return usable_ && tiling_.cost() < 0.86 * direct;
  }

  std::uint64_t temporary_bytes() const noexcept { return static_cast<std::uint64_t>(slots_at_ + slots_ * slot_.size); }
  std::uint64_t persistent_bytes() const noexcept {
    return static_cast<std::uint64_t>(qlc::round_up(2 * tiling_.filter_elements(), 256));
  }
  /// As BlockedConvolution::initialize.
  void initialize(const std::byte* const* inputs, std::byte* persistent) const noexcept {
    qlc::winograd::pack_filter(g_, tiling_, reinterpret_cast<const std::uint8_t*>(inputs[qlc::filter_tensor]),
                               reinterpret_cast<std::int16_t*>(persistent));
  }

  /// What depends on data but not on pixels. Once per execute, before the units run.
  void prepare(const qlc::Buffers& b, Run& run) const noexcept {
    auto* scale = reinterpret_cast<float*>(b.temporary + scale_at_);
    auto* bias = reinterpret_cast<std::int32_t*>(b.temporary + bias_at_);
    auto* zero = reinterpret_cast<std::int32_t*>(b.temporary + zero_at_);
    auto* none = reinterpret_cast<std::int32_t*>(b.temporary + none_at_);

    const std::int32_t zx = qlc::zero_point_of(tensors_.input_zero_point, b.inputs[qlc::input_zero_point_tensor], 0);
    run.flip = g_.input_signed ? 0x80 : 0;
    run.input_zero = zx + (g_.input_signed ? 128 : 0);

    run.requantizer = qlc::bind_requantizer(b.inputs, g_, tensors_);
    const qlc::ChannelBounds bounds = qlc::fold_channels(b.inputs, g_, tensors_, packed_channels(), scale, zero, bias);
    run.requantizer.scale = scale;
    run.requantizer.packed_channels = packed_channels();
    run.requantizer.bounded = bounds.bounded;
    std::memset(none, 0, static_cast<std::size_t>(4 * (packed_channels() + 64)));
    run.pixel_terms = bounds.pixel_terms();
    run.wide = bounds.wide;

    run.input = reinterpret_cast<const std::uint8_t*>(b.inputs[qlc::input_tensor]);
    run.output = reinterpret_cast<std::uint8_t*>(b.output);
    run.filter = reinterpret_cast<const std::int16_t*>(b.persistent);
    run.bias = bias;
    run.offset = run.wide ? none : bias;
    run.minus_zero = zero;
  }

  static constexpr Index most_tasks = qlc::most_tasks;
  Index tasks(std::size_t concurrency) const noexcept { return qlc::tasks_for(concurrency, slots_); }
  Index units(Index tasks) const noexcept { return tiling_.units(tasks) * splits(tasks); }

  /// As BlockedConvolution::run.
  void run(const Run& run, const qlc::Buffers& buffers, Index tasks, Index task, Index unit,
           Index& staged) const noexcept {
    const Index parts = splits(tasks);
    const Index part = unit % parts;
    const Work work = work_of(run, buffers.temporary + slots_at_ + task * slot_.size, tasks, unit / parts);
    if (staged != unit / parts) {
      for (Index i = 0; i < work.images; ++i) transform_input(work, i);
      staged = unit / parts;
    }
    for (Index block = tiling_.blocks * part / parts; block < tiling_.blocks * (part + 1) / parts; ++block) {
      run_channels(work, block);
    }
  }

 private:
  static constexpr Index lanes = qlc::winograd::block;

  /// Memory of one task.
  struct Slot {
    Index staged = 0, scratch = 0, v = 0, m = 0, sums = 0, bytes = 0, pixel_sums = 0, positions = 0, size = 0;
  };
  struct Work {
    const Run& run;
    std::byte* slot;
    Index image, images;  // the first one and how many
    Index row, rows;      // of tiles
    Index column, columns;
    template <class T>
    T* at(Index offset) const noexcept {
      return reinterpret_cast<T*>(slot + offset);
    }
  };
  /// What an image (a phase of one, if dilated) has of a block: output pixels in steps of the dilation.
  struct Place {
    Index batch, y, x;
    Index rows, columns;  // that exist
  };

  Index packed_channels() const noexcept { return tiling_.blocks * lanes; }
  Index splits(Index tasks) const noexcept {
    Index parts = 1;
    while (tasks > 1 && tiling_.units(tasks) * parts < 8 * tasks && tiling_.blocks / (2 * parts) >= 2) parts *= 2;
    return parts;
  }

  void place_memory() {
    using qlc::round_up;
    qlc::Pieces shared;
    const Index channels = packed_channels() + 64;
    scale_at_ = shared.take(4 * channels);
    bias_at_ = shared.take(4 * channels);
    zero_at_ = shared.take(4 * channels);
    none_at_ = shared.take(4 * channels);
    slots_at_ = shared.size();

    const qlc::winograd::Tiling& t = tiling_;
    qlc::Pieces task;
    slot_.staged =
        task.take(2 * (t.inputs(t.block_rows) * t.staged_columns() + qlc::winograd::staged_slack) * t.channels);
    slot_.scratch = task.take(lanes * t.staged_columns());
    slot_.v = task.take(2 * t.positions() * t.v_position());
    slot_.m = task.take(4 * t.planes() * t.m_position());
    slot_.sums = task.take(4 * t.block_images * t.image_pixels() * lanes);
    slot_.bytes = task.take((t.block_images * t.image_pixels() + 16) * lanes);  // transpose reads whole lines
    slot_.pixel_sums = task.take(4 * t.block_images * t.image_pixels());
    slot_.positions = task.take(4 * t.inputs(1) * t.staged_columns());
    slot_.size = task.size();
    slots_ = qlc::task_slots();
  }

  Work work_of(const Run& run, std::byte* slot, Index tasks, Index index) const noexcept {
    const qlc::winograd::Tiling& t = tiling_;
    // Parts differ by one at most.
    const auto first = [](Index size, Index part, Index parts) { return size * part / parts; };
    const Index across = t.across(), down = t.down(tasks), deep = t.deep();
    const Index x = index % across, y = index / across % down, z = index / across / down;
    const Index column = first(t.columns, x, across), row = first(t.rows, y, down), image = first(t.images, z, deep);
    return {run,    slot,
            image,  first(t.images, z + 1, deep) - image,
            row,    first(t.rows, y + 1, down) - row,
            column, first(t.columns, x + 1, across) - column};
  }

  Place place_of(const Work& work, Index i) const noexcept {
    const qlc::winograd::Tiling& t = tiling_;
    const Index image = work.image + i;
    const Index phase_x = image % t.phases_x;
    const Index phase_y = image / t.phases_x % t.phases_y;
    const Index y = phase_y + work.row * t.outputs() * g_.dilation_y;
    const Index x = phase_x + work.column * t.outputs() * g_.dilation_x;
    const auto left = [](Index first, Index size, Index step, Index most) {
      const Index count = first < size ? qlc::ceil_div(size - first, step) : 0;
      return count < most ? count : most;
    };
    return {image / t.phases_x / t.phases_y, y, x, left(y, g_.out_height, g_.dilation_y, work.rows * t.outputs()),
            left(x, g_.out_width, g_.dilation_x, work.columns * t.outputs())};
  }

  Index image_tiles(const Work& work) const noexcept { return work.rows * work.columns; }
  Index image_pixels(const Work& work) const noexcept {
    return image_tiles(work) * tiling_.outputs() * tiling_.outputs();
  }

  // V of image i's tiles, and the sums over its pixels' windows where they are wanted. What a row of tiles reads is
  // staged just before, but for the rows that it shares with the one above.
  void transform_input(const Work& work, Index i) const noexcept {
    const qlc::winograd::Tiling& t = tiling_;
    const Place place = place_of(work, i);
    const Index columns = t.inputs(work.columns);
    const Index step = t.outputs() * t.stride();
    const Index pitch = columns * t.channels;
    for (Index row = 0; row < work.rows; ++row) {
      const Index ready = row == 0 ? 0 : t.inputs(1) - step;
      auto* staged = work.at<std::int16_t>(slot_.staged) + row * step * pitch;
      qlc::winograd::stage(g_, kernels_, t.channels,
                           {work.run.input + place.batch * g_.in.n, work.run.input + g_.input_end,
                            place.y * t.stride() - g_.pad_y + (row * step + ready) * g_.dilation_y,
                            place.x * t.stride() - g_.pad_x, t.inputs(1) - ready, columns, work.run.flip,
                            work.run.input_zero, work.at<std::uint8_t>(slot_.scratch), staged + ready * pitch});
      t.tiles.input({staged, pitch, t.channels, t.channels, work.columns, work.at<std::int16_t>(slot_.v),
                     t.v_position(), t.channels, i * image_tiles(work) + row * work.columns});
      if (work.run.pixel_terms) sum_windows(work, staged, columns, i * work.rows + row);
    }
  }

  // The sums over the windows of the pixels of one row of tiles.
  void sum_windows(const Work& work, const std::int16_t* staged, Index columns, Index tile_row) const noexcept {
    const qlc::winograd::Tiling& t = tiling_;
    const Index rows = t.inputs(1);
    auto* positions = work.at<std::int32_t>(slot_.positions);
    kernels_.sum_channels(staged, t.channels, rows * columns, positions);
    std::int32_t* sums = work.at<std::int32_t>(slot_.pixel_sums) + tile_row * work.columns * t.outputs() * t.outputs();
    for (Index y = 0; y < rows - 2; y += t.stride()) {
      for (Index x = 0; x < columns - 2; x += t.stride()) {
        std::int32_t sum = 0;
        for (Index k = 0; k < 3; ++k) {
          const std::int32_t* three = positions + (y + k) * columns + x;
          sum += three[0] + three[1] + three[2];
        }
        *sums++ = sum;
      }
    }
  }

  // One block of output channels of all the block's tiles.
  void run_channels(const Work& work, Index block) const noexcept {
    const qlc::winograd::Tiling& t = tiling_;
    const Index tiles = work.images * image_tiles(work);
    const Index row_step = work.columns * t.outputs() * lanes;
    auto* m = work.at<std::int32_t>(slot_.m);
    auto* sums = work.at<std::int32_t>(slot_.sums);
    for (Index chunk = 0; chunk < t.chunks; ++chunk) {
      const Index first = t.chunk_at(chunk);
      kernels_.multiply({&t.transform(), work.at<std::int16_t>(slot_.v) + first, t.v_position(), t.channels,
                         (t.chunk_at(chunk + 1) - first) / 2, tiles, work.run.filter + t.filter_at(block, chunk), m,
                         t.m_position()});
      for (Index row = 0; row < work.images * work.rows; ++row) {
        t.tiles.output({m + row * work.columns * lanes, t.m_position(), work.columns,
                        sums + row * t.outputs() * row_step, row_step,
                        chunk == 0 ? work.run.offset + block * lanes : nullptr});
      }
    }
    const Index pixels = work.images * image_pixels(work);
    auto* bytes = work.at<std::uint8_t>(slot_.bytes);
    if (work.run.wide) {
      requantize_wide(work, block, pixels, sums, bytes);
    } else {
      if (work.run.pixel_terms) {
        kernels_.shared->add_outer(sums, lanes, pixels, lanes, work.at<std::int32_t>(slot_.pixel_sums),
                                   work.run.minus_zero + block * lanes);
      }
      kernels_.shared->quantize(sums, pixels / 4, work.run.requantizer, block * lanes, lanes, bytes);
    }
    for (Index i = 0; i < work.images; ++i) {
      write(place_of(work, i), work.run, bytes + i * image_pixels(work) * lanes, row_step, block * lanes);
    }
  }

  void requantize_wide(const Work& work, Index block, Index pixels, const std::int32_t* sums,
                       std::uint8_t* bytes) const noexcept {
    const auto* pixel_sums = work.at<std::int32_t>(slot_.pixel_sums);
    for (Index p = 0; p < pixels; ++p) {
      for (Index l = 0; l < lanes; ++l) {
        const Index c = block * lanes + l;
        std::int64_t sum = std::int64_t{sums[p * lanes + l]} + work.run.bias[c];
        if (work.run.pixel_terms) sum += std::int64_t{work.run.minus_zero[c]} * pixel_sums[p];
        bytes[p * lanes + l] = work.run.requantizer.exact(sum, c);
      }
    }
  }

  // Writes bytes[row][column][channel].
  void write(const Place& place, const Run& run, std::uint8_t* bytes, Index row_step, Index channel) const noexcept {
    const Index count = g_.out_channels - channel < lanes ? g_.out_channels - channel : lanes;
    const Index step_y = g_.out.y * g_.dilation_y;
    const Index step_x = g_.out.x * g_.dilation_x;
    std::uint8_t* out =
        run.output + place.batch * g_.out.n + place.y * g_.out.y + place.x * g_.out.x + channel * g_.out.c;
    const bool planar = step_x == 1 && g_.out.c != 1;
    if (planar && step_y == place.columns) {  // rows touch each other: one line
      for (Index y = 1; y < place.rows && row_step != place.columns * lanes; ++y) {
        std::memmove(bytes + y * place.columns * lanes, bytes + y * row_step,
                     static_cast<std::size_t>(place.columns * lanes));
      }
      return kernels_.shared->transpose(bytes, lanes, place.rows * place.columns, count, out, g_.out.c);
    }
    for (Index y = 0; y < place.rows; ++y, bytes += row_step, out += step_y) {
      if (planar) {
        kernels_.shared->transpose(bytes, lanes, place.columns, count, out, g_.out.c);
      } else if (g_.out.c == 1) {
        qlc::copy_pixels(bytes, lanes, out, step_x, place.columns, count);
      } else {
        for (Index c = 0; c < count; ++c) {
          for (Index x = 0; x < place.columns; ++x) out[c * g_.out.c + x * step_x] = bytes[x * lanes + c];
        }
      }
    }
  }

  qlc::Geometry g_;
  const qlc::winograd::Kernels& kernels_;
  qlc::ChannelTensors tensors_;
  bool usable_ = false;
  qlc::winograd::Tiling tiling_;
  Index scale_at_ = 0, bias_at_ = 0, zero_at_ = 0, none_at_ = 0, slots_at_ = 0;
  Index slots_ = 1;
  Slot slot_;
};

}  // namespace fast
DMLREF_END
