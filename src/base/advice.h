// Next steps for a person, as values. The program that shows it makes the text of it
// (present/advice.h), and adds the options that reach the hub or the state folder.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/field_list.h"

namespace spate {

// A command to run.
struct Advice {
  std::string command;            // its noun and verb: "job release"
  std::vector<std::string> args;  // as its process gets them, so not quoted

  Advice() = default;
  template <typename... Args>
  explicit Advice(std::string name, const Args&... each) : command(std::move(name)) {
    (args.push_back(TextOf(each)), ...);
  }

  SPATE_FIELDS(1, command, 2, args);
  friend bool operator==(const Advice&, const Advice&) = default;

 private:
  template <std::integral Number>
  static std::string TextOf(Number number) {
    return std::to_string(number);
  }
  static std::string TextOf(std::string text) { return text; }
};

// The end of a message: fixed words with a place {} for each command. What users have named stands
// in the message itself, or in arguments.
struct Remedy {
  std::string text;
  std::vector<Advice> commands;

  Remedy() = default;
  template <std::same_as<Advice>... Commands>
  explicit Remedy(std::string words, Commands... each)
      : text(std::move(words)), commands{std::move(each)...} {}
  bool empty() const { return text.empty(); }

  SPATE_FIELDS(1, text, 2, commands);
  friend bool operator==(const Remedy&, const Remedy&) = default;
};

// "; see: COMMAND"
template <typename... Args>
Remedy SeeAlso(std::string command, const Args&... args) {
  return Remedy("; see: {}", Advice(std::move(command), args...));
}

// A line for a person, of a program that only reports: a hub's log.
struct LogText {
  std::string text;
  Remedy remedy;

  // NOLINTNEXTLINE(google-explicit-constructor): most lines are text alone
  LogText(std::string line, Remedy what = {}) : text(std::move(line)), remedy(std::move(what)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  LogText(const char* line) : text(line) {}
};
using WriteLog = std::function<void(LogText)>;

}  // namespace spate
