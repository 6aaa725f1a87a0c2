// document.hpp: a JSON file, and its values with the place where each stands.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dmlref/desc/half.hpp"
#include "support/element.hpp"
#include "support/failure.hpp"
#include "support/memory.hpp"

namespace dmlref::tool {

using Json = nlohmann::json;

/// `path`.`key`, or `path`["key"] where the key is no plain word.
std::string member_path(const std::string& path, std::string_view key);

/// A value in few words, for "is X, expected Y".
std::string describe(const Json& value);

/// A JSON number or, for real types, "nan", "inf", "-inf" as T; empty where it is none or does not fit.
template <class T>
std::optional<T> to_number(const Json& value);

/// "a number, \"nan\", \"inf\" or \"-inf\" that FLOAT16 holds", "an integer from 0 to 255".
template <class T>
std::string number_expectation();

/// A value of the file and its JSON path. Every accessor fails with file, path, what is there and what was expected.
class Node {
 public:
  Node(const std::string& file, const Json& value, std::string path)
      : file_(&file), value_(&value), path_(std::move(path)) {}

  const Json& json() const noexcept { return *value_; }
  const std::string& path() const noexcept { return path_; }
  const std::string& file() const noexcept { return *file_; }

  [[noreturn]] void fail(const std::string& what) const { throw Failure(*file_ + ": " + path_, what); }
  /// "is X, expected Y".
  [[noreturn]] void refuse(std::string_view expected) const;
  /// The same about a member or element of this value.
  [[noreturn]] void fail_at(std::string_view key, const std::string& what) const {
    throw Failure(*file_ + ": " + member_path(path_, key), what);
  }

  /// Fails unless this is an object that has no other keys than these.
  void expect_object(std::span<const std::string_view> keys) const;
  void expect_object(std::initializer_list<std::string_view> keys) const {
    expect_object(std::span<const std::string_view>(keys.begin(), keys.size()));
  }
  /// The member, where it is there and not null.
  std::optional<Node> find(std::string_view key) const;
  /// Whether the member is missing beside unknown keys, one of which may be meant: that fault is told already.
  bool may_be_misspelt(std::string_view key, bool keys_known) const { return !keys_known && !find(key); }
  /// The member under the first of two names that is there; fails where both are.
  std::optional<Node> find_either(std::string_view key, std::string_view other) const;
  /// The member; fails where it is missing: "is missing, expected ...".
  Node at(std::string_view key, std::string_view expected) const;
  /// An element of an array.
  Node operator[](std::size_t index) const;

  const std::string& text(std::string_view expected = "a string") const;
  bool boolean() const;
  template <class T>
  T number() const {
    const std::optional<T> value = to_number<T>(*value_);
    if (!value) refuse(number_expectation<T>());
    return *value;
  }
  template <class T>
  std::vector<T> numbers(std::string_view expected = "an array of numbers") const {
    if (!value_->is_array()) refuse(expected);
    std::vector<T> values;
    values.reserve(value_->size());
    for (std::size_t i = 0; i < value_->size(); ++i) {
      const std::optional<T> value = to_number<T>((*value_)[i]);
      if (!value) (*this)[i].refuse(number_expectation<T>());
      values.push_back(*value);
    }
    return values;
  }

 private:
  const std::string* file_;
  const Json* value_;
  std::string path_;
};

/// A parsed file. Comments and commas before a closing bracket are allowed, as DxDispatch allows them.
class Document {
 public:
  /// Fails with the file's name, and line and column where the text is no JSON, or where a key occurs twice.
  explicit Document(const std::filesystem::path& path);
  /// The same of a text; `file` is what messages call it.
  Document(std::string file, std::string text);

  const std::string& file() const noexcept { return file_; }
  Node root() const { return Node(file_, value_, "$"); }
  /// What its values take at most.
  std::uint64_t memory() const noexcept { return memory_.bytes(); }

 private:
  Document(const std::filesystem::path& path, Reservation text);

  std::string file_;
  Reservation memory_;
  Json value_;
};

}  // namespace dmlref::tool
