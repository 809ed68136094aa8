#include "doors/parasol/formats/time_text.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace spate::parasol {

std::string CtimeText(const std::tm& when) {
  constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                     "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{} {} {:2} {:02}:{:02}:{:02} {}", kDays.at(static_cast<size_t>(when.tm_wday)),
                     kMonths.at(static_cast<size_t>(when.tm_mon)), when.tm_mday, when.tm_hour,
                     when.tm_min, when.tm_sec, when.tm_year + 1900);
}

std::string DateTimeText(const std::tm& when) {
  return fmt::format("{}/{:02}/{:02} {:02}:{:02}:{:02}", when.tm_year + 1900, when.tm_mon + 1,
                     when.tm_mday, when.tm_hour, when.tm_min, when.tm_sec);
}

}  // namespace spate::parasol
