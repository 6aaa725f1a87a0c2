// main.cpp: the command dmlref. Exit status: 0 done, 1 a comparison or validation failed, 2 unusable.
#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "commands/commands.hpp"
#include "support/failure.hpp"
#include "support/printable.hpp"

namespace {

using namespace dmlref::tool;

/// In the order in which help lists them.
constexpr AddVerb* verbs[] = {
    add_run,  add_validate,  add_explain, add_compare, add_import,
#if !defined(__EMSCRIPTEN__)  // a page has no folder of results, and the kit is a third of the module
    add_kit,  add_check_kit,
#endif
    add_info,
};

std::string one_line(std::string text) {
  text = printable(text);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  constexpr std::size_t limit = 1000;
  if (text.size() > limit) {
    std::size_t end = limit;
    while (static_cast<unsigned char>(text[end]) >> 6 == 2) --end;  // within a character
    text = text.substr(0, end) + "...";
  }
  return text;
}

int unusable(const std::string& why) {
  fmt::print(stderr, "dmlref: {}\n", one_line(why));
  return exit_unusable;
}

}  // namespace

int main(int argc, char** argv) {
  int status = exit_done;
  try {
    status = run_command_line(argc, argv, verbs);
  } catch (const Failure& failure) {
    for (const std::string& line : failure.lines()) status = unusable(line);
  } catch (const std::bad_alloc&) {
    status = unusable("not enough memory for this model");
  } catch (const std::exception& error) {
    status = unusable(error.what());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) status = unusable("standard output cannot be written");
  return status;
}
