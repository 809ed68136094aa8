#include "remote/call_words.h"

#include <fmt/format.h>

#include <string_view>

#include "base/units.h"

namespace spate::remote {
namespace {

// Letters of options, of ssh, and -d of rsh.
constexpr std::string_view kWithValue = "BDEFIJLOPQRSWbceilmopw";
constexpr std::string_view kAlone = "1246AaCdfGgKkMNnqsTtVvXxYy";

constexpr std::string_view kUsage = "Usage: spate remote HOST COMMAND...";

// How many words of `words` are one option, from the first on; 0: it is none that we know.
size_t TakeOption(std::span<const std::string> words, CallWords& call) {
  const std::string_view letters = std::string_view(words.front()).substr(1);
  for (size_t i = 0; i < letters.size(); ++i) {
    if (kWithValue.find(letters[i]) != std::string_view::npos) {
      return i + 1 < letters.size() ? 1 : 2;  // its value is the rest of the word, or the next one
    }
    if (kAlone.find(letters[i]) == std::string_view::npos) return 0;
    call.no_input = call.no_input || letters[i] == 'n';
  }
  return 1;
}

std::string WithoutUser(const std::string& host) {
  size_t at = host.rfind('@');
  return at == std::string::npos ? host : host.substr(at + 1);
}

}  // namespace

Result<CallWords> ReadCallWords(std::span<const std::string> words) {
  CallWords call;
  size_t at = 0;
  // The order of ssh: options, the host, options again.
  for (bool ended = false; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (!ended && word == "--") {
      ended = true;
      continue;
    }
    if (!ended && word.size() > 1 && word.starts_with('-')) {
      size_t taken = TakeOption(words.subspan(at), call);
      if (taken == 0 || at + taken > words.size()) {
        return Fail(ErrorKind::kInvalid,
                    fmt::format("{}: no option of ssh or rsh\n{}", EscapeForScreen(word), kUsage));
      }
      at += taken - 1;
      continue;
    }
    if (!call.host.empty()) break;
    call.host = WithoutUser(word);
  }
  if (call.host.empty()) {
    return Fail(ErrorKind::kInvalid, fmt::format("the host is missing\n{}", kUsage));
  }
  for (; at < words.size(); ++at) {
    if (!call.command.empty()) call.command += ' ';
    call.command += words[at];
  }
  if (call.command.empty()) {
    return Fail(ErrorKind::kInvalid, fmt::format("the command is missing\n{}", kUsage));
  }
  return call;
}

}  // namespace spate::remote
