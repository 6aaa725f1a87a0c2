// Truncated, damaged and oversized files of every format: refused with what was expected, or read; never a crash.
#include <cstdint>
#include <functional>
#include <random>

#include "command/command.hpp"
#include "io/image.hpp"
#include "io/npy.hpp"
#include "model/model.hpp"
#include "support/failure.hpp"

namespace dmlref::test {
namespace {

using tool::FileError;

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::span<const std::byte> bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

tool::Image picture() {
  tool::Image image = tool::make_image(9, 7, 3);
  for (std::size_t i = 0; i < 9 * 7 * 3; ++i) image.pixels[i] = static_cast<std::uint8_t>(i * 37);
  return image;
}

/// A whole file, and what reads it.
struct Format {
  const char* name;
  std::string file;
  std::function<void(std::string_view)> read;
};

std::vector<Format> formats() {
  const auto npy_reader = [](std::string_view file) { tool::read_npy(bytes_of_text(file)); };
  const auto image_reader = [](std::string_view file) { tool::decode_image(bytes_of_text(file)); };
  std::string second = npy("<f4", "(1, 3)", bytes_of<float>({1, 2, 3}));
  second[6] = '\x02';
  second.insert(10, 2, '\0');
  return {
      {"npy 1.0", npy("|u1", "(5,)", "abcde"), npy_reader},
      {"npy 2.0", second, npy_reader},
      {"png", text_of(tool::encode_png(picture())), image_reader},
      {"jpeg", text_of(tool::encode_jpeg(picture())), image_reader},
  };
}

TEST(MalformedFiles, EveryPrefixIsRefused) {
  for (const Format& format : formats()) {
    EXPECT_NO_THROW(format.read(format.file)) << format.name;
    for (std::size_t size = 0; size < format.file.size(); ++size) {
      EXPECT_THROW(format.read(std::string_view(format.file).substr(0, size)), FileError)
          << format.name << " of " << size << " bytes";
    }
  }
  const std::string model(slice_model.substr(0, slice_model.rfind('}')));
  for (std::size_t size = 0; size <= model.size(); ++size) {
    EXPECT_THROW(tool::Document("m.json", model.substr(0, size)), tool::Failure) << size;
  }
}

TEST(MalformedFiles, DamagedBytesAreReadOrRefused) {
  constexpr std::uint32_t seed = 20250613;
  std::mt19937 random(seed);
  for (const Format& format : formats()) {
    int refused = 0;
    for (int round = 0; round < 3000; ++round) {
      std::string file = format.file;
      for (auto edits = 1 + random() % 4; edits > 0; --edits) {
        file[random() % file.size()] = static_cast<char>(random());
      }
      if (random() % 8 == 0) file.insert(random() % file.size(), random() % 40, static_cast<char>(random()));
      try {
        format.read(file);
      } catch (const FileError&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 0) << format.name << ", seed " << seed;
  }
}

/// PNG's checksum of a chunk.
std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xEDB88320u : 0u);
  }
  return ~crc;
}
std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

/// The header is the first chunk: 8 bytes of signature, 4 of length, IHDR, width, height, 5 more, checksum.
std::string png_that_claims(std::uint32_t width, std::uint32_t height) {
  std::string file = text_of(tool::encode_png(picture()));
  file.replace(16, 8, big_endian(width) + big_endian(height));
  file.replace(29, 4, big_endian(crc32(std::string_view(file).substr(12, 17))));
  return file;
}
/// Height and width stand 5 bytes behind the marker FF C0.
std::string jpeg_that_claims(std::string_view height_and_width) {
  std::string file = text_of(tool::encode_jpeg(picture()));
  const std::size_t at = file.find("\xFF\xC0");
  EXPECT_NE(at, std::string::npos);
  return file.replace(at + 5, 4, height_and_width);
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

struct Malformed {
  const char* name;  // of the file, whose ending says the format
  std::string content;
  const char* type;
  const char* expected;
};

std::vector<Malformed> malformed_files() {
  return {
      {"f.png", png_that_claims(65535, 65535), "UINT8",
       "is a picture of 65535 by 65535, expected at most 8192 by 8192"},
      {"f.png", png_that_claims(8192, 8192), "UINT8", "is no readable PNG"},
      {"f.png", png_that_claims(0, 7), "UINT8", "is no readable PNG"},
      {"f.png", text_of(tool::encode_png(picture())).substr(0, 60), "UINT8", "is no readable PNG"},
      {"f.jpg", jpeg_that_claims("\xEA\x60\xEA\x60"), "UINT8", "is a picture larger than 8192 by 8192"},
      {"f.jpg", jpeg_that_claims("\x20\x00\x20\x00"), "UINT8", "is no readable JPEG"},
      {"f.jpg", jpeg_that_claims(std::string(4, '\0')), "UINT8", "is no readable JPEG"},
      {"f.jpg", text_of(tool::encode_jpeg(picture())).substr(0, 300), "UINT8", "is no readable JPEG"},
      {"f.npy", npy("<f4", "(4611686018427387904, 4)", "x"), "FLOAT32", "which no memory holds"},
      {"f.npy", npy("<f4", "(1099511627776,)", "x"), "FLOAT32", "has 1 bytes of elements, expected 4398046511104"},
      {"f.npy", npy("<f4", "(-1,)", "x"), "FLOAT32", "broken .npy header"},
      {"f.npy", npy("<f4", "(" + std::string(9000, ','), "x"), "FLOAT32", "broken .npy header"},
      {"f.npy", npy("<f4", std::string(9000, '('), "x"), "FLOAT32", "broken .npy header"},
      {"f.npy", npy("<f4", "(1,)" + std::string(10'000, ' '), "abcd"), "FLOAT32",
       "has an .npy header of 10058 bytes, expected at most 10000"},
      {"f.npy", npy("<f4", "(" + repeated("1,", 33) + ")", "abcd"), "FLOAT32",
       "has more than 32 dimensions in its .npy header"},
      {"f.npy", npy("<f4", "(18446744073709551616,)", "x"), "FLOAT32", "broken .npy header"},
      {"f.npy", std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{", 13), "FLOAT32", "ends within its .npy header"},
      {"f.npy", npy(std::string(300, '<').c_str(), "(1,)", "x"), "FLOAT32", "holds elements of type '<<<"},
      {"f.bin", "", "FLOAT64", "is empty, expected at least one element"},
      {"f.bin", "1234567", "FLOAT64", "has 7 bytes, expected a multiple of 8, the size of FLOAT64"},
  };
}

TEST(MalformedFiles, NpyHeadersAreReadUpToNumPysBounds) {
  const std::string good = npy("<f4", "(" + repeated("1,", 32) + ")", "abcd");
  EXPECT_EQ(tool::read_npy(bytes_of_text(good)).shape.size(), 32u);
  const std::size_t rest = npy("<f4", "(1,)", "").size() - 10;
  EXPECT_NO_THROW(tool::read_npy(bytes_of_text(npy("<f4", "(1,)" + std::string(10'000 - rest, ' '), "abcd"))));
}

class MalformedFile : public CommandTest {
 protected:
  void expect_nothing_written() const { EXPECT_FALSE(fs::exists(file("w.bin"))); }
};

TEST_F(MalformedFile, EndsWithStatus2AndNothingWritten) {
  for (const Malformed& row : malformed_files()) {
    SCOPED_TRACE(row.name + std::string(": ") + row.expected);
    write(row.name, row.content);
    write("model.json", R"({"resources": {"w": {"initialValuesDataType": "UINT8", "initialValues": [1]},
      "r": {"initialValues": {"sourcePath": ")" +
                            std::string(row.name) + R"("}, "initialValuesDataType": ")" + row.type + R"("}},
      "dispatchables": {}, "commands": [{"type": "writeFile", "resource": "w", "targetPath": "w.bin"},
                                        {"type": "print", "resource": "w"}]})");
    expect_unusable(
        dmlref({"run", "model.json"}),
        {"model.json: $.resources.r.initialValues.sourcePath: names " + std::string(row.name), row.expected});
    expect_nothing_written();
    if (std::string_view(row.name).ends_with(".npy")) {
      expect_unusable(dmlref({"compare", row.name, row.name}), {row.name + std::string(": "), row.expected});
    }
  }
}

TEST_F(MalformedFile, LargerThanMemoryIsNotRead) {
  for (const char* name : {"f.npy", "f.bin", "f.png", "f.jpg", "f.json"}) {
    SCOPED_TRACE(name);
    write(name, "x");
    std::error_code error;
    fs::resize_file(file(name), std::uintmax_t{1} << 43, error);  // 8 TiB of nothing
    if (error) GTEST_SKIP() << "this file system has no sparse files of 8 TiB: " << error.message();
    write("model.json", print_model(R"({"initialValues": {"sourcePath": ")" + std::string(name) +
                                    R"("}, "initialValuesDataType": "UINT8"})"));
    const std::string wants = "wants 8796093022208 bytes for the bytes of the file, expected no more than ";
    expect_unusable(dmlref({"run", "model.json"}), {"names " + std::string(name), wants});
    expect_unusable(dmlref({"compare", name, name, "--type", "UINT8"}), {name + std::string(": "), wants});
    for (const char* verb : {"run", "validate"})
      expect_unusable(dmlref({verb, name}), {name + std::string(": "), wants});
    expect_unusable(dmlref({"explain", name, "--element", "0"}), {name + std::string(": "), wants});
  }
}

TEST_F(MalformedFile, AModelBeyond256MiBIsNotParsed) {
  write("m.json", "{}");
  fs::resize_file(file("m.json"), (std::uintmax_t{256} << 20) + 1);
  for (const char* verb : {"run", "validate"}) {
    expect_unusable(dmlref({verb, "m.json"}), {"m.json: has more than 268435456 bytes"});
  }
}

}  // namespace
}  // namespace dmlref::test
