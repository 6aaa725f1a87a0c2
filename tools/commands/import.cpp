#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "commands/option_values.hpp"
#include "onnx/import.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {

void add_import(CLI::App& line) {
  const auto options = std::make_shared<onnx::ImportOptions>();
  const auto narrow = std::make_shared<DataType>(DataType::unknown);
  Verb verb(line, "import", "Turn an ONNX model into a model that run takes");
  verb.argument("MODEL.onnx", "The ONNX model", options->model);
  verb.option("--data", "A folder with input_N.pb and output_N.pb of ONNX", options->data);
  verb.option("--out", "The folder of model.json and its .npy files", options->out);
  verb.option("--conv-integer-output", "UINT8 or INT8: what all outputs of ConvInteger fit", *narrow, parse_type);
  verb.flag("--relative", "Write outputs to the folder where the model runs, for use on another machine",
            options->relative);
  verb.runs([options, narrow] {
    if (options->out.empty()) throw Failure("--out", "is missing, expected a folder");
    if (*narrow != DataType::unknown) {
      if (*narrow != DataType::uint8 && *narrow != DataType::int8) {
        throw Failure("--conv-integer-output", fmt::format("is {}, expected UINT8 or INT8", to_string(*narrow)));
      }
      options->conv_integer_output = *narrow;
    }
    fmt::print("{}", onnx::import_model(*options));
    return exit_done;
  });
}

}  // namespace dmlref::tool
