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
  Verb verb(line, "import", "Lower an ONNX model to one that run executes");
  verb.argument("MODEL.onnx", "The ONNX model", options->model);
  verb.option("--data", "DIR", "Folder of ONNX's input_N.pb and output_N.pb; the latter become expected_N.npy",
              options->data);
  verb.required_option("--out", "DIR", "Folder for model.json and its .npy files", options->out);
  verb.option("--conv-integer-output", "TYPE", "UINT8 or INT8, the type that holds all outputs of ConvInteger", *narrow,
              parse_type);
  verb.memory_option();
  verb.flag("--relative", "Write outputs to the folder where the model runs, as another machine requires",
            options->relative);
  verb.runs([options, narrow] {
    if (options->out.empty()) throw Failure("--out", "is empty, expected a folder");
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
