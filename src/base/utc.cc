#include "base/utc.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "base/units.h"

namespace spate {
namespace {

constexpr int64_t kDay = 86400;

// Fields by the letters of `pattern` (Y M D h m s), all other bytes as they are.
bool Match(std::string_view text, std::string_view pattern, std::array<int, 6>& fields) {
  if (text.size() != pattern.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t field = std::string_view("YMDhms").find(pattern[i]);
    if (field == std::string_view::npos) {
      if (text[i] != pattern[i]) return false;
    } else {
      if (text[i] < '0' || text[i] > '9') return false;
      fields[field] = fields[field] * 10 + (text[i] - '0');
    }
  }
  return true;
}

}  // namespace

std::string FormatUtc(Instant when) {
  int64_t seconds = when.ns / 1000000000 - (when.ns % 1000000000 < 0 ? 1 : 0);
  int64_t days = seconds / kDay - (seconds % kDay < 0 ? 1 : 0);
  int64_t rest = seconds - days * kDay;
  std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     rest / 3600, rest / 60 % 60, rest % 60);
}

Result<Instant> ParseUtc(std::string_view text) {
  std::array<int, 6> field{};
  bool matches = Match(text, "YYYY-MM-DD", field);
  if (!matches) {
    field = {};
    matches = Match(text, "YYYY-MM-DDThh:mm:ssZ", field);
  }
  std::chrono::year_month_day date{std::chrono::year(field[0]),
                                   std::chrono::month(static_cast<unsigned>(field[1])),
                                   std::chrono::day(static_cast<unsigned>(field[2]))};
  if (!matches || !date.ok() || field[0] < 1970 || field[0] > 2261 || field[3] > 23 ||
      field[4] > 59 || field[5] > 59) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a time; write it as 2027-01-31T12:00:00Z or 2027-01-31",
                            EscapeForScreen(text)));
  }
  int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  int64_t seconds = days * kDay + field[3] * 3600 + field[4] * 60 + field[5];
  return Instant{seconds * 1000000000};
}

}  // namespace spate
