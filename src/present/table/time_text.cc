#include "present/table/time_text.h"

#include <fmt/format.h>

#include <ctime>

namespace spate::present {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

std::string Date(const std::tm& t) {
  return fmt::format("{:04}-{:02}-{:02}", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
}

}  // namespace

std::tm LocalTime(Instant when) {
  auto seconds = static_cast<std::time_t>(when.ns / kNanosPerSecond);
  std::tm fields{};
  localtime_r(&seconds, &fields);
  return fields;
}

std::string DateAndTime(Instant when) {
  std::tm t = LocalTime(when);
  return fmt::format("{} {:02}:{:02}:{:02}", Date(t), t.tm_hour, t.tm_min, t.tm_sec);
}

std::string DateAndMinute(Instant when) {
  std::tm t = LocalTime(when);
  return fmt::format("{} {:02}:{:02}", Date(t), t.tm_hour, t.tm_min);
}

std::string TimeAgo(Instant when, Instant now) {
  int64_t seconds = (now - when).ns / kNanosPerSecond;
  constexpr int64_t kDay = 86400;
  if (when > now || seconds >= 30 * kDay) return Date(LocalTime(when));
  if (seconds < 60) return fmt::format("{}s ago", seconds);
  if (seconds < 3600) return fmt::format("{}m ago", seconds / 60);
  if (seconds < kDay) return fmt::format("{}h ago", seconds / 3600);
  return fmt::format("{}d ago", seconds / kDay);
}

}  // namespace spate::present
