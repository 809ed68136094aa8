#include "doors/mw/overseer/slaves.h"

#include <fmt/format.h>

#include "base/units.h"
#include "os/signals.h"

namespace spate::mw {
namespace {

constexpr size_t kShown = 300;
constexpr int kLastSignal = 64;

}  // namespace

std::string TextOfEnd(int code) {
  bool signal = code > 128 && code <= 128 + kLastSignal;
  return signal ? "by " + os::SignalName(code - 128) : fmt::format("with exit code {}", code);
}

std::string LastWords(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  size_t end = text.find_last_not_of(kBlank);
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  size_t begin = text.find_last_of('\n');
  if (begin != std::string_view::npos) text.remove_prefix(begin + 1);
  if (text.size() > kShown) text.remove_prefix(text.size() - kShown);
  return EscapeForScreen(text);
}

}  // namespace spate::mw
