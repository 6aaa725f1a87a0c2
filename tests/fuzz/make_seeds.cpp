// make_seeds.cpp: FOLDER EXAMPLES: writes what the fuzz targets begin with to FOLDER/TARGET.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "dmlref/directml.hpp"
#include "fuzz/onnx_seeds.hpp"
#include "fuzz/operator_bytes.hpp"
#include "io/file.hpp"
#include "io/image.hpp"
#include "io/npy.hpp"
#include "model/model.hpp"
#include "run/directml_case.hpp"
#include "validate/request.hpp"

namespace {

using namespace dmlref::tool;
namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(const fs::path& path) {
  Reservation memory;
  return read_file(path, memory);
}

class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) {}

  void write(const char* target, const std::string& name, std::span<const std::byte> bytes) {
    write_file(folder_ / target / name, bytes);
    ++written_;
  }
  /// The desc, once as it is and once for sparse memory; false where it does not come back from its bytes.
  bool write(const std::string& name, const DML_OPERATOR_DESC& desc) {
    for (const unsigned sparse : {0u, 15u}) {
      dmlref_test::ByteWriter writer;
      writer.byte(14);  // the latest level
      writer.byte(sparse);
      const dmlref_test::OperatorToBytes encoded(desc, writer);
      const std::size_t used = writer.bytes().size();
      for (unsigned i = 0; i < 64; ++i) writer.byte(i * 37 + 5);  // data
      if (!comes_back(desc, std::span(writer.bytes()).first(used))) {
        std::fprintf(stderr, "%s: another desc after writing and reading\n", name.c_str());
        return false;
      }
      write("operator", name + (sparse != 0 ? "_sparse" : ""), std::as_bytes(std::span(writer.bytes())));
    }
    return true;
  }
  int written() const { return written_; }

 private:
  static bool comes_back(const DML_OPERATOR_DESC& desc, std::span<const std::uint8_t> bytes) {
    dmlref_test::ByteReader reader(bytes.subspan(2));
    const dmlref_test::OperatorFromBytes read(reader);
    dmlref_test::ByteWriter writer;
    writer.byte(bytes[0]);
    writer.byte(bytes[1]);
    const dmlref_test::OperatorToBytes encoded(read.desc(), writer);
    if (!std::equal(bytes.begin(), bytes.end(), writer.bytes().begin(), writer.bytes().end())) return false;
    for (const auto& row : dmlref::feature_levels) {
      if (dmlref::validate(desc, row.level).to_string() != dmlref::validate(read.desc(), row.level).to_string())
        return false;
    }
    return true;
  }

  fs::path folder_;
  int written_ = 0;
};

bool write_models(Seeds& seeds, const fs::path& examples) {
  for (const auto& entry : fs::directory_iterator(examples)) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem().string();
    seeds.write("model", name + ".json", bytes_of(entry.path()));
    const Model model = parse_model(entry.path());
    for (const auto& [of, dispatchable] : model.dispatchables) {
      if (!seeds.write(name + "_" + of, dispatchable.op.desc())) return false;
    }
  }
  return true;
}

bool write_operators(Seeds& seeds) {
  for (const auto& it : outside::all_cases()) {
    if (!seeds.write("case_" + it->name, it->desc)) return false;
  }
  const request::Request requests[] = {request::convolution(), request::convolution_1d(), request::normalization(),
                                       request::fused(request::normalization1(), 45, 1.5f, 2.5f),
                                       request::fused(request::normalization2(), 43, 1.5f, 2.5f)};
  int number = 0;
  for (const request::Request& r : requests) {
    const request::Linked linked(r);
    if (!seeds.write("request_" + std::to_string(number++), linked.desc())) return false;
  }
  // Every activation, after a normalization.
  for (const dmlref::ActivationInfo& info : dmlref::activation_table) {
    const request::Request r = request::fused(request::normalization1(), static_cast<std::uint32_t>(info.type));
    const request::Linked linked(r);
    if (!seeds.write("activation_" + std::string(info.name), linked.desc())) return false;
  }
  return true;
}

void write_arrays(Seeds& seeds) {
  using dmlref::DataType;
  const std::array<std::byte, 48> data{std::byte{1}, std::byte{60}, std::byte{200}};
  for (std::uint32_t type = 1; type <= 11; ++type) {
    const auto of = static_cast<DataType>(type);
    const std::uint64_t shape[] = {2, 3};
    const std::vector<std::byte> file = write_npy(of, shape, std::span(data).first(6 * size_of(of)));
    seeds.write("npy", std::string(to_string(of)) + ".npy", file);
  }
  std::vector<std::byte> second = write_npy(DataType::uint8, {}, std::span(data).first(1));  // of version 2.0
  second[6] = std::byte{2};
  second.insert(second.begin() + 10, 2, std::byte{0});
  seeds.write("npy", "version_2.npy", second);
  // As NumPy writes them on other machines and for other types.
  const auto variant = [&](const char* name, std::string_view from, std::string_view to) {
    const std::uint64_t shape[] = {3, 1};
    const std::vector<std::byte> file = write_npy(DataType::uint16, shape, std::span(data).first(6));
    std::string text(reinterpret_cast<const char*>(file.data()), file.size());
    text.replace(text.find(from), from.size(), to);
    seeds.write("npy", name, std::as_bytes(std::span(text)));
  };
  variant("big_endian.npy", "<u2", ">u2");
  variant("bool.npy", "<u2", "|b1");
  variant("fortran.npy", "False", "True ");
}

void write_pictures(Seeds& seeds, const fs::path& examples) {
  seeds.write("image", "picture.png", bytes_of(examples / "picture.png"));
  for (const std::size_t channels : {std::size_t{1}, std::size_t{3}, std::size_t{4}}) {
    Image image = make_image(5, 3, channels);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i * 29);
    const std::string name = "channels_" + std::to_string(channels);
    seeds.write("image", name + ".png", encode_png(image));
    if (channels != 4) seeds.write("image", name + ".jpg", encode_jpeg(image));
  }
}

void write_onnx(Seeds& seeds) {
  int number = 0;
  for (const dmlref_test::OnnxSeed& seed : dmlref_test::onnx_seeds()) {
    const std::string file = seed.file();
    const std::string name = std::to_string(number++) + "_" + seed.operator_type;
    seeds.write("onnx", name + ".onnx", std::as_bytes(std::span(file)));
    // Without the opset, which is last: six bytes.
    seeds.write("onnx", name + "_no_opset.onnx", std::as_bytes(std::span(file)).first(file.size() - 6));
  }
}

/// A picture's width, height and channels, the size to scale it to, and a budget of 2^N bytes.
void write_resampling(Seeds& seeds) {
  struct Case {
    const char* name;
    std::array<unsigned, 2> from;
    std::array<unsigned, 2> to;
    unsigned channels;
    unsigned budget;
  };
  constexpr Case cases[] = {
      {"larger", {5, 3}, {13, 8}, 1, 31},        {"smaller", {40, 30}, {7, 5}, 2, 31},
      {"tall", {1, 8192}, {2, 4096}, 0, 31},     {"wide", {8192, 1}, {1000, 2}, 1, 31},
      {"to_one", {60, 60}, {1, 1}, 0, 31},       {"same", {9, 9}, {9, 9}, 2, 31},
      {"many_columns", {3, 4}, {300, 9}, 1, 31}, {"refused", {40, 30}, {90, 90}, 2, 12},
  };
  for (const Case& one : cases) {
    std::vector<std::uint8_t> bytes;
    const auto side = [&](unsigned extent) {
      bytes.push_back(static_cast<std::uint8_t>((extent - 1) >> 8));
      bytes.push_back(static_cast<std::uint8_t>((extent - 1) & 0xFF));
    };
    for (const unsigned extent : one.from) side(extent);
    bytes.push_back(static_cast<std::uint8_t>(one.channels));
    for (const unsigned extent : one.to) side(extent);
    bytes.push_back(static_cast<std::uint8_t>(one.budget));
    for (unsigned i = 0; i < 97; ++i) bytes.push_back(static_cast<std::uint8_t>(i * 59 + 7));
    seeds.write("resample", one.name, std::as_bytes(std::span(bytes)));
  }
}

/// Recipes of import_fuzz.cpp: kind, value (two bytes), count.
void write_recipes(Seeds& seeds) {
  const auto write = [&](const std::string& name, const std::vector<std::array<std::uint8_t, 4>>& steps) {
    std::vector<std::uint8_t> bytes;
    for (const auto& step : steps) bytes.insert(bytes.end(), step.begin(), step.end());
    seeds.write("import", name, std::as_bytes(std::span(bytes)));
  };
  write("slices", std::vector(12, std::array<std::uint8_t, 4>{0, 1, 0, 7}));
  write("transposed", {{1, 0, 0, 0}, {0, 0, 1, 3}, {3, 0, 1, 0}, {2, 0, 2, 7}});
  write("normalized", {{4, 0, 0, 2}, {6, 0, 3, 0}, {5, 0, 1, 0}});
  write("quantized", {{8, 0, 0, 0}, {9, 0, 1, 0}, {10, 0, 2, 1}});
  write("named", std::vector(9, std::array<std::uint8_t, 4>{33, 0, 2, 8}));
  write("refused", {{7, 0, 0, 7}, {6, 0, 0, 7}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_seeds FOLDER EXAMPLES\n");
    return 2;
  }
  const fs::path examples = argv[2];
  Seeds seeds(argv[1]);
  if (!write_models(seeds, examples) || !write_operators(seeds)) return 1;
  write_arrays(seeds);
  write_pictures(seeds, examples);
  write_onnx(seeds);
  write_resampling(seeds);
  write_recipes(seeds);
  std::printf("%d seeds\n", seeds.written());
  return 0;
}
