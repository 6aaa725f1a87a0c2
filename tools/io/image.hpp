// image.hpp: pictures: 8 bits per channel, and tensors of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "dmlref/desc/data_type.hpp"
#include "support/memory.hpp"

namespace dmlref::tool {

/// Rows from the top, channels interleaved: gray, RGB or RGBA.
struct Image {
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t channels = 0;  ///< 1, 3 or 4
  std::vector<std::uint8_t> pixels;
  Reservation memory{};  ///< of the pixels
};

/// Pixels of 0. Throws FileError where the budget does not hold them, as everything does that makes a picture.
Image make_image(std::size_t width, std::size_t height, std::size_t channels);

/// What a file may hold: 8192 by 8192.
inline constexpr std::size_t max_image_side = 8192;

/// Decoders of a whole file. They throw FileError for bytes that are no such picture.
Image decode_png(std::span<const std::byte> file);
Image decode_jpeg(std::span<const std::byte> file);
std::vector<std::byte> encode_png(const Image& image);
/// Gray or RGB; quality 95.
std::vector<std::byte> encode_jpeg(const Image& image);

/// PNG or JPEG by its first bytes.
Image decode_image(std::span<const std::byte> file);

/// Gray becomes three equal channels, colour becomes gray by 0.299 R + 0.587 G + 0.114 B, missing alpha is opaque,
/// unwanted alpha is dropped.
Image with_channels(Image image, std::size_t channels);

/// Cubic (Catmull-Rom), widened when shrinking so that no detail aliases; edges repeat.
Image resample(Image image, std::size_t width, std::size_t height);

/// Fails unless it is FLOAT32, FLOAT16 or UINT8.
void expect_picture_type(DataType type);

/// Planes one after the other (CHW). UINT8 keeps 0..255, FLOAT32 and FLOAT16 become 0..1. Other types: FileError.
std::vector<std::byte> to_tensor(const Image& image, DataType type);

/// The way back: UINT8 as it is; FLOAT32 and FLOAT16 clamped to 0..1 (NaN is 0) and rounded to 255ths.
Image from_tensor(std::span<const std::byte> tensor, DataType type, std::size_t channels, std::size_t height,
                  std::size_t width);

}  // namespace dmlref::tool
