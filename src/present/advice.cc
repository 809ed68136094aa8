#include "present/advice.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "base/units.h"

namespace spate::present {
namespace {

enum class Takes : uint8_t {
  kAll,    // --access, --state, and --hub or --local to say which of both
  kHub,    // likewise without --local
  kOfHub,  // --access and --state: it is always about a hub
  kState,  // --state: it works on the folder
};
struct CommandReach {
  std::string_view command;  // or how its name begins
  Takes takes = Takes::kAll;
};
// The first that fits counts; others take none. A test compares it with the commands' options.
constexpr CommandReach kCommands[] = {
    {"hub backup", Takes::kState}, {"hub restore", Takes::kState}, {"hub start", Takes::kState},
    {"hub remove", Takes::kState}, {"node stop", Takes::kState},   {"state ", Takes::kState},
    {"hub ", Takes::kOfHub},       {"node ", Takes::kOfHub},       {"pool ", Takes::kOfHub},
    {"submit", Takes::kOfHub},     {"job add", Takes::kOfHub},     {"job close", Takes::kHub},
    {"job get", Takes::kHub},      {"job set", Takes::kHub},       {"job ", Takes::kAll},
    {"task ", Takes::kAll},        {"events", Takes::kOfHub}};

std::string_view ReachOf(const Advice& advice, std::string_view reach) {
  constexpr std::array<std::string_view, 4> kOwn = {"--access", "--hub", "--local", "--state"};
  if (std::ranges::find_first_of(advice.args, kOwn) != advice.args.end()) return {};
  auto known = std::ranges::find_if(
      kCommands, [&](const auto& each) { return advice.command.starts_with(each.command); });
  if (known == std::end(kCommands)) return {};
  const bool local = reach.starts_with(" --local");
  switch (known->takes) {
    case Takes::kAll:
      return reach;
    case Takes::kHub:
      return local ? std::string_view() : reach;
    case Takes::kOfHub:
      return local ? std::string_view() : ReachOfHub(reach);
    case Takes::kState:
      reach = ReachOfHub(reach);
      return reach.starts_with(" --state ") ? reach : std::string_view();
  }
  return {};
}

}  // namespace

std::string_view ReachOfHub(std::string_view reach) {
  constexpr std::string_view kSwitch = " --hub";
  if (reach.starts_with(" --hub ") || reach == kSwitch) reach.remove_prefix(kSwitch.size());
  return reach;
}

std::string TextOf(const Advice& advice, std::string_view reach) {
  std::string text = "spate " + advice.command;
  text += ReachOf(advice, reach);
  for (const std::string& arg : advice.args) text += " " + EscapeForScreen(ShellQuote(arg));
  return text;
}

std::string TextOf(const Remedy& remedy, std::string_view reach) {
  constexpr std::string_view kPlace = "{}";
  std::string text;
  std::string_view rest = remedy.text;
  for (const Advice& command : remedy.commands) {
    const size_t at = rest.find(kPlace);
    if (at == std::string_view::npos) break;
    text += rest.substr(0, at);
    text += TextOf(command, reach);
    rest.remove_prefix(at + kPlace.size());
  }
  return text.append(rest);
}

std::string TextOf(const Error& error, std::string_view reach) {
  return error.message + TextOf(error.remedy, reach);
}

std::string TextOf(const LogText& line, std::string_view reach) {
  return line.text + TextOf(line.remedy, reach);
}

Error Reached(Error error, std::string_view reach) {
  return {error.kind, TextOf(error, reach), {}};
}

}  // namespace spate::present
