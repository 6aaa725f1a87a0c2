#include <fmt/format.h>

#include <array>
#include <csetjmp>
#include <cstdio>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

// After <cstdio>, which it needs.
#include <jpeglib.h>

#include "io/image.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

/// libjpeg reports by jumping. No object with a destructor may be made between the setjmp and the calls it guards.
struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

void on_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}

/// Damaged data is a warning to libjpeg, and an error to us.
void on_message(j_common_ptr info, int level) {
  if (level < 0) on_error(info);
}

jpeg_error_mgr* prepare(Errors& errors) {
  jpeg_std_error(&errors.manager);
  errors.manager.error_exit = on_error;
  errors.manager.emit_message = on_message;
  errors.message[0] = '\0';
  return &errors.manager;
}

/// False where `errors.message` says why.
bool read_header(jpeg_decompress_struct& jpeg, Errors& errors, std::span<const std::byte> file) {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), static_cast<unsigned long>(file.size()));
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = jpeg.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  return true;
}

/// A decoder or encoder of libjpeg, freed whatever happens. It may be freed before it is created.
template <class Jpeg, void (*destroy)(Jpeg*)>
struct Freed {
  Jpeg jpeg{};
  Freed() = default;
  ~Freed() { destroy(&jpeg); }
  Freed(const Freed&) = delete;
  Freed& operator=(const Freed&) = delete;
};

/// What libjpeg keeps of a picture that comes in several passes: all of its coefficients.
std::uint64_t coefficient_bytes(jpeg_decompress_struct& jpeg) {
  if (jpeg_has_multiple_scans(&jpeg) == FALSE) return 0;
  constexpr std::uint64_t unit = 32;  // blocks of 8 by 8, up to 4 of a component side by side
  const auto rounded = [](std::uint64_t side) { return (side + unit - 1) / unit * unit; };
  return rounded(jpeg.image_width) * rounded(jpeg.image_height) * static_cast<unsigned>(jpeg.num_components) *
         sizeof(JCOEF);
}

bool read_rows(jpeg_decompress_struct& jpeg, Errors& errors, std::uint8_t* pixels, std::size_t stride) {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels + jpeg.output_scanline * stride;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

/// Where the bytes go. libjpeg's own buffer in memory cannot be freed after an error: whether libjpeg has freed it when
/// it grew is not known then.
struct Destination {
  jpeg_destination_mgr manager;
  std::vector<std::byte> file;
  Reservation memory;
  std::array<std::byte, 1 << 16> block;
};

void start_block(j_compress_ptr jpeg) {
  auto* to = reinterpret_cast<Destination*>(jpeg->dest);
  to->manager.next_output_byte = reinterpret_cast<JOCTET*>(to->block.data());
  to->manager.free_in_buffer = to->block.size();
}

/// False where memory runs out, which may not be thrown through libjpeg; `errors.message` says why.
bool keep(Destination& to, Errors& errors, std::size_t bytes) noexcept {
  try {
    to.memory.add(3 * bytes, "the bytes of the file");  // a vector that grows has up to three times its elements
    to.file.insert(to.file.end(), to.block.begin(), to.block.begin() + static_cast<std::ptrdiff_t>(bytes));
    return true;
  } catch (const std::exception& error) {
    std::snprintf(errors.message, sizeof errors.message, "%s", error.what());
    return false;
  }
}

void end_block(j_compress_ptr jpeg, std::size_t bytes) {
  auto* errors = reinterpret_cast<Errors*>(jpeg->err);
  if (!keep(*reinterpret_cast<Destination*>(jpeg->dest), *errors, bytes)) std::longjmp(errors->jump, 1);
  start_block(jpeg);
}

boolean on_full_block(j_compress_ptr jpeg) {
  end_block(jpeg, reinterpret_cast<Destination*>(jpeg->dest)->block.size());
  return TRUE;
}

void on_end(j_compress_ptr jpeg) {
  const auto* to = reinterpret_cast<Destination*>(jpeg->dest);
  end_block(jpeg, to->block.size() - to->manager.free_in_buffer);
}

bool write_rows(jpeg_compress_struct& jpeg, Errors& errors, const Image& image, Destination& to) {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_create_compress(&jpeg);
  to.manager.init_destination = start_block;
  to.manager.empty_output_buffer = on_full_block;
  to.manager.term_destination = on_end;
  jpeg.dest = &to.manager;
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = static_cast<int>(image.channels);
  jpeg.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 95, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPROW>(&image.pixels[jpeg.next_scanline * image.width * image.channels]);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  return true;
}

}  // namespace

Image decode_jpeg(std::span<const std::byte> file) {
  Errors errors{};
  Freed<jpeg_decompress_struct, jpeg_destroy_decompress> decoder;
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  jpeg.err = prepare(errors);
  const auto check = [&](bool done) {
    if (!done) throw FileError(fmt::format("is no readable JPEG: {}", static_cast<const char*>(errors.message)));
  };
  check(read_header(jpeg, errors, file));
  if (jpeg.image_width > max_image_side || jpeg.image_height > max_image_side) {
    throw FileError(fmt::format("is a picture larger than {} by {}", max_image_side, max_image_side));
  }
  const Reservation coefficients(coefficient_bytes(jpeg), "the coefficients of a progressive JPEG");
  Image image = make_image(jpeg.image_width, jpeg.image_height, jpeg.num_components == 1 ? 1 : 3);
  check(read_rows(jpeg, errors, image.pixels.data(), image.width * image.channels));
  return image;
}

std::vector<std::byte> encode_jpeg(const Image& image) {
  Errors errors{};
  Freed<jpeg_compress_struct, jpeg_destroy_compress> encoder;
  encoder.jpeg.err = prepare(errors);
  const auto to = std::make_unique<Destination>();
  if (!write_rows(encoder.jpeg, errors, image, *to)) {
    throw FileError(fmt::format("cannot be written as JPEG: {}", static_cast<const char*>(errors.message)));
  }
  return std::move(to->file);
}

}  // namespace dmlref::tool
