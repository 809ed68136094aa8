#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace spate {
namespace {

constexpr double kCountMax = 9.0e18;  // below 2^63: any sum we make of two of them is checked

// The leading number of `text` (digits, underscores between digits, one point), removed from it.
std::optional<double> NextNumber(std::string_view& text) {
  std::string digits;
  size_t i = 0;
  bool point = false;
  for (; i < text.size(); ++i) {
    char c = text[i];
    if (c >= '0' && c <= '9') {
      digits += c;
    } else if (c == '.' && !point) {
      point = true;
      digits += c;
    } else if (c == '_' && i > 0 && i + 1 < text.size() && text[i - 1] >= '0' &&
               text[i - 1] <= '9' && text[i + 1] >= '0' && text[i + 1] <= '9') {
      continue;
    } else {
      break;
    }
  }
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  text.remove_prefix(i);
  return value;
}

std::optional<double> UnitSeconds(std::string_view unit) {
  if (unit == "ms") return 1e-3;
  if (unit == "s" || unit == "sec") return 1;
  if (unit == "m" || unit == "min") return 60;
  if (unit == "h") return 3600;
  if (unit == "d") return 86400;
  return std::nullopt;
}

std::optional<double> ClockSeconds(std::string_view text) {
  double total = 0;
  int fields = 0;
  while (true) {
    auto field = NextNumber(text);
    if (!field || ++fields > 3 || (fields > 1 && *field >= 60)) return std::nullopt;
    total = total * 60 + *field;
    if (text.empty()) return fields >= 2 ? std::optional(total) : std::nullopt;
    if (text.front() != ':') return std::nullopt;
    text.remove_prefix(1);
  }
}

std::optional<double> UnitsSeconds(std::string_view text) {
  double total = 0;
  while (!text.empty()) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    auto number = NextNumber(text);
    if (!number) return std::nullopt;
    size_t length = text.find_first_of("0123456789. ");
    std::string_view unit = text.substr(0, length);
    text.remove_prefix(unit.size());
    auto factor = UnitSeconds(unit);
    if (!factor) return std::nullopt;
    total += *number * *factor;
  }
  return total;
}

// The length of the valid UTF-8 sequence at the start of `text`, or 0.
size_t Utf8Length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  size_t length = byte(0) < 0x80   ? 1
                  : byte(0) < 0xC2 ? 0
                  : byte(0) < 0xE0 ? 2
                  : byte(0) < 0xF0 ? 3
                  : byte(0) < 0xF5 ? 4
                                   : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (length == 2 && byte(0) == 0xC2 && byte(1) < 0xA0) return 0;  // C1 controls
  if (length == 3 && byte(0) == 0xE0 && byte(1) < 0xA0) return 0;
  if (length == 3 && byte(0) == 0xED && byte(1) >= 0xA0) return 0;
  if (length == 4 && byte(0) == 0xF0 && byte(1) < 0x90) return 0;
  if (length == 4 && byte(0) == 0xF4 && byte(1) >= 0x90) return 0;
  return length;
}

}  // namespace

Result<Duration> ParseDuration(std::string_view text) {
  std::string_view rest = text;
  std::optional<double> seconds;
  if (size_t dash = text.find('-'); dash != std::string_view::npos && dash > 0) {
    // DAYS-HH[:MM[:SS]], as Slurm has it.
    std::string_view days = text.substr(0, dash);
    std::string hours(text.substr(dash + 1));
    if (std::ranges::count(hours, ':') == 0) hours += ":00";
    if (std::ranges::count(hours, ':') == 1) hours += ":00";
    auto count = NextNumber(days);
    auto rest_of_day = ClockSeconds(hours);
    bool whole = days.empty() && text.substr(0, dash).find('.') == std::string_view::npos;
    if (count && rest_of_day && whole && *rest_of_day < 86400) {
      seconds = *count * 86400 + *rest_of_day;
    }
  } else if (text.find(':') != std::string_view::npos) {
    seconds = ClockSeconds(text);
  } else if (auto plain = NextNumber(rest); plain && rest.empty()) {
    seconds = plain;
  } else if (!text.empty()) {
    seconds = UnitsSeconds(text);
  }
  constexpr double kMost = int64_t{1} << 60;  // ns; the most that messages and shepherds hold
  if (!seconds || *seconds * 1e9 >= kMost) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("'{}' is {}; write for example 90, 1.5s, 200ms, 10m, 1h30m, HH:MM:SS or "
                    "DAYS-HH:MM:SS",
                    EscapeForScreen(text), seconds ? "36 years or more" : "not a duration"));
  }
  return Duration{static_cast<int64_t>(std::llround(*seconds * 1e9))};
}

Result<uint64_t> ParseSize(std::string_view text) {
  std::string_view rest = text;
  auto number = NextNumber(rest);
  double factor = 1;
  if (number && !rest.empty() && rest != "B") {
    constexpr std::string_view kUnits = "KMGTP";
    char letter = rest.front() >= 'a' ? static_cast<char>(rest.front() - 32) : rest.front();
    size_t power = kUnits.find(letter);
    std::string_view tail = rest.substr(1);
    bool tail_ok = tail.empty() || tail == "B" || tail == "iB" || tail == "b" || tail == "ib";
    if (power == std::string_view::npos || !tail_ok) {
      number.reset();
    } else {
      factor = std::pow(1024.0, static_cast<double>(power + 1));
    }
  }
  if (!number || *number * factor > kCountMax) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a size; write for example 64K, 1.5G or 2GiB",
                            EscapeForScreen(text)));
  }
  return static_cast<uint64_t>(std::llround(*number * factor));
}

Result<uint64_t> ParseMemory(std::string_view text) {
  constexpr uint64_t kLeastBytes = 16'000'000;
  auto size = ParseSize(text);
  const bool has_unit = text.find_first_not_of("0123456789._") != std::string_view::npos;
  if (!size || has_unit || *size == 0 || *size >= kLeastBytes) return size;
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("'{0}' has no unit and would be {1} bytes; write {0}M (megabytes) or {0}G "
                  "(gigabytes); for bytes: {0}B",
                  text, FormatCount(*size)));
}

Result<uint64_t> ParseCount(std::string_view text) {
  std::string_view rest = text;
  auto number = NextNumber(rest);
  if (!number || !rest.empty() || text.find('.') != std::string_view::npos || *number > 9e15) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a whole number from 0 on", EscapeForScreen(text)));
  }
  return static_cast<uint64_t>(*number);
}

std::string FormatClockStep(Instant from, Instant to) {
  return to < from ? "set back by " + FormatDuration(from - to)
                   : "set forward by " + FormatDuration(to - from);
}

std::string FormatDuration(Duration d) {
  double s = d.seconds();
  if (s < 10) return fmt::format("{:.2f} s", s);
  if (s < 59.95) return fmt::format("{:.1f} s", s);
  auto whole = static_cast<int64_t>(std::llround(s));
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{}d{:02}h", whole / 86400, whole / 3600 % 24);
}

std::string FormatSize(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array kUnits = {"KB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  if (value < 9.95) return fmt::format("{:.1f} {}", value, kUnits[unit]);
  return fmt::format("{:.0f} {}", value, kUnits[unit]);
}

std::string FormatCount(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

namespace {

uint32_t CodePointOf(std::string_view sequence) {
  uint32_t c = static_cast<uint8_t>(sequence.front());
  if (sequence.size() > 1) c &= 0x7fU >> sequence.size();
  for (char next : sequence.substr(1)) c = c << 6 | (static_cast<uint8_t>(next) & 0x3f);
  return c;
}

}  // namespace

bool IsDeceptive(std::string_view sequence) {
  if (sequence.empty() || Utf8Length(sequence) != sequence.size()) return false;
  const uint32_t c = CodePointOf(sequence);
  return c == 0xad || c == 0x61c || c == 0x180e || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
         (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

std::string EscapeForScreen(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t length = Utf8Length(text);
    auto byte = static_cast<unsigned char>(text.front());
    if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte == '\r') {
      out += "\\r";
    } else if (length == 0 || byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
      length = 1;
    } else if (const auto sequence = text.substr(0, length); IsDeceptive(sequence)) {
      const uint32_t c = CodePointOf(sequence);
      out += c > 0xffff ? fmt::format("\\U{:08x}", c) : fmt::format("\\u{:04x}", c);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string ShellQuote(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,/:@%=";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string out = "'";
  for (char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace spate
