#include "io/tensor_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "io/file.hpp"
#include "io/image.hpp"
#include "io/npy.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

std::string ending(const std::filesystem::path& path) {
  std::string text = path.extension().string();
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

struct PictureShape {
  std::uint64_t channels = 1;
  std::uint64_t height = 0;
  std::uint64_t width = 0;
};

PictureShape picture_shape(std::span<const std::uint64_t> shape) {
  const std::size_t rank = shape.size();
  const std::uint64_t channels = rank < 3 ? 1 : shape[rank - 3];
  const bool batch = rank == 4 && shape[0] != 1;
  if (rank < 2 || rank > 4 || batch || (channels != 1 && channels != 3 && channels != 4)) {
    throw FileError(fmt::format("cannot be a picture of dimensions [{}], expected [1, C, H, W] with C of 1, 3 or 4",
                                fmt::join(shape, ", ")));
  }
  return {channels, shape[rank - 2], shape[rank - 1]};
}

}  // namespace

bool is_picture(const std::filesystem::path& path) {
  const std::string text = ending(path);
  return text == ".png" || text == ".jpg" || text == ".jpeg";
}
bool is_npy(const std::filesystem::path& path) { return ending(path) == ".npy"; }

TensorFile read_tensor(const std::filesystem::path& path, DataType type,
                       const std::optional<ResampleSize>& resample_to) {
  Reservation memory;
  const std::vector<std::byte> bytes = read_file(path, memory);
  if (is_npy(path)) {
    NpyArray array = read_npy(bytes);
    if (type != DataType::unknown && type != array.type) {
      throw FileError(
          fmt::format("holds {}, expected {} as initialValuesDataType says", to_string(array.type), to_string(type)));
    }
    return {array.type, std::move(array.shape), std::move(array.data), std::move(array.memory)};
  }
  if (is_picture(path)) {
    Image image = decode_image(bytes);
    if (resample_to) {
      image = resample(with_channels(std::move(image), resample_to->channels), resample_to->width, resample_to->height);
    }
    Reservation tensor(std::uint64_t{image.pixels.size()} * size_of(type), "the elements");
    return {type, {1, image.channels, image.height, image.width}, to_tensor(image, type), std::move(tensor)};
  }
  NpyArray array = read_raw(bytes, type, {});
  return {type, {}, std::move(array.data), std::move(array.memory)};
}

void check_tensor_file(const std::filesystem::path& path, DataType type, std::span<const std::uint64_t> shape) {
  if (!is_picture(path)) return;
  const PictureShape picture = picture_shape(shape);
  if (picture.height > max_image_side || picture.width > max_image_side) {
    throw FileError(fmt::format("cannot be a picture of {} by {}, expected at most {} by {}", picture.width,
                                picture.height, max_image_side, max_image_side));
  }
  expect_picture_type(type);
}

void write_tensor(const std::filesystem::path& path, DataType type, std::span<const std::uint64_t> shape,
                  std::span<const std::byte> data) {
  if (is_npy(path)) {
    const std::string header = npy_header(type, shape);
    return write_file(path, std::as_bytes(std::span(header)), data);
  }
  if (!is_picture(path)) return write_file(path, data);
  check_tensor_file(path, type, shape);
  const auto [channels, height, width] = picture_shape(shape);
  Image image = from_tensor(data, type, static_cast<std::size_t>(channels), static_cast<std::size_t>(height),
                            static_cast<std::size_t>(width));
  if (ending(path) == ".png") return write_file(path, encode_png(image));
  write_file(path, encode_jpeg(channels == 4 ? with_channels(std::move(image), 3) : std::move(image)));
}

}  // namespace dmlref::tool
