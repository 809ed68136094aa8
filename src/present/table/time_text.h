// Points in time as people read them, in the local time zone ($TZ, else /etc/localtime).
#pragma once

#include <ctime>
#include <string>

#include "base/time.h"

namespace spate::present {

std::tm LocalTime(Instant when);
std::string DateAndTime(Instant when);    // "2026-07-03 12:40:05"
std::string DateAndMinute(Instant when);  // "2026-07-03 12:40"
// "12s ago", "5m ago", "3h ago", "6d ago"; older than 30 days, or not in the past: the date.
std::string TimeAgo(Instant when, Instant now);

}  // namespace spate::present
