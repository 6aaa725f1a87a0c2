// command.hpp: runs the real executable as a user would, in a folder of the test's own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace dmlref::test {

namespace fs = std::filesystem;

inline std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_text(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

/// What a program said and how it ended; a signal is status 1000 + its number.
struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

inline std::ostream& operator<<(std::ostream& stream, const Outcome& outcome) {
  return stream << "status " << outcome.status << "\nout: " << outcome.out << "\nerr: " << outcome.err;
}

/// A folder that lives as long as the test.
class CommandTest : public ::testing::Test {
 protected:
  CommandTest() {
    std::string pattern = (fs::temp_directory_path() / "dmlref-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  }
  ~CommandTest() override {
    std::error_code error;
    fs::remove_all(folder_, error);
  }

  fs::path file(std::string_view name) const { return folder_ / name; }
  fs::path write(std::string_view name, std::string_view text) const {
    write_text(file(name), text);
    return file(name);
  }

  /// Runs `dmlref ARGUMENTS` in the folder, with additions to the environment ("NAME=value").
  Outcome dmlref(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) const {
    return run({DMLREF_TEST_COMMAND}, arguments, environment);
  }

  /// The same where the system gives the process no more than these bytes of memory.
  Outcome dmlref_within(std::uint64_t bytes, const std::vector<std::string>& arguments) const {
    const std::string script = "ulimit -v " + std::to_string(bytes / 1024) + " && exec \"$0\" \"$@\"";
    return run({"/bin/sh", "-c", script, DMLREF_TEST_COMMAND}, arguments, {});
  }

  /// Runs a script of the shell, whose $0 is the command.
  Outcome shell(const std::string& script) const { return run({"/bin/sh", "-c", script, DMLREF_TEST_COMMAND}, {}, {}); }

  static constexpr int any_faults = 0;

  /// Exit status 2, nothing on standard output, a line per fault on standard error; all the fragments are there.
  static void expect_unusable(const Outcome& outcome, const std::vector<std::string>& fragments, int faults = 1) {
    EXPECT_EQ(outcome.status, 2) << outcome;
    EXPECT_EQ(outcome.out, "");
    const auto lines = std::count(outcome.err.begin(), outcome.err.end(), '\n');
    EXPECT_EQ(lines, faults == any_faults ? (std::max<std::ptrdiff_t>)(lines, 1) : faults) << outcome;
    EXPECT_TRUE(outcome.err.starts_with("dmlref: ")) << outcome;
    for (const std::string& fragment : fragments) {
      EXPECT_NE(outcome.err.find(fragment), std::string::npos) << "lacks: " << fragment << '\n' << outcome;
    }
  }

 private:
  Outcome run(std::vector<std::string> words, const std::vector<std::string>& arguments,
              const std::vector<std::string>& environment) const {
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (!std::string_view(*variable).starts_with("DMLREF_ISA=")) variables.emplace_back(*variable);
    }
    variables.insert(variables.end(), environment.begin(), environment.end());
    std::vector<char*> envp;
    for (std::string& variable : variables) envp.push_back(variable.data());
    envp.push_back(nullptr);

    const fs::path out = folder_ / ".out";
    const fs::path err = folder_ / ".err";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder_.c_str());
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags, 0600);
    pid_t child = 0;
    const int error = posix_spawn(&child, words[0].c_str(), &actions, nullptr, argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&actions);
    Outcome outcome;
    if (error != 0) return outcome;
    int status = 0;
    waitpid(child, &status, 0);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    outcome.out = read_text(out);
    outcome.err = read_text(err);
    fs::remove(out);
    fs::remove(err);
    return outcome;
  }

  fs::path folder_;
};

/// `text` with its first `from` replaced; a `from` that is not there fails the test.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "no such text: " << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

/// The first SLICE example; prints 7, 8, 11, 12, 15, 16.
inline constexpr std::string_view slice_model = R"({
  "resources": {
    "input": { "initialValuesDataType": "FLOAT32", "initialValues": { "valueCount": 16, "valueStart": 1, "valueDelta": 1 } },
    "output": { "initialValuesDataType": "FLOAT32", "initialValues": { "valueCount": 6, "value": 0 } }
  },
  "dispatchables": {
    "slice": {
      "type": "DML_OPERATOR_SLICE",
      "desc": {
        "InputTensor": { "DataType": "FLOAT32", "Sizes": [1,1,4,4] },
        "OutputTensor": { "DataType": "FLOAT32", "Sizes": [1,1,3,2] },
        "DimensionCount": 4,
        "Offsets": [0,0,1,2],
        "Sizes": [1,1,3,2],
        "Strides": [1,1,1,1]
      }
    }
  },
  "commands": [
    { "type": "dispatch", "dispatchable": "slice", "bindings": { "InputTensor": "input", "OutputTensor": "output" } },
    { "type": "print", "resource": "output" }
  ]
}
)";
inline constexpr std::string_view slice_result = "Resource 'output': 7, 8, 11, 12, 15, 16\n";

/// A model that only prints the resource "r".
inline std::string print_model(std::string_view resource, std::string_view more = "") {
  return R"({"resources": {"r": )" + std::string(resource) +
         R"(}, "dispatchables": {}, "commands": [{"type": "print", "resource": "r"})" + std::string(more) + "]}";
}

/// A version 1.0 .npy file.
inline std::string npy(std::string_view descr, std::string_view shape, std::string_view data,
                       std::string_view fortran = "False") {
  std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': " + std::string(fortran) +
                       ", 'shape': " + std::string(shape) + ", }\n";
  std::string text = "\x93NUMPY\x01";
  text += '\0';
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  return text + header + std::string(data);
}

/// The bytes of some values.
template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace dmlref::test
