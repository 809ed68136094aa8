// Dates and times of the calendar, in UTC, as people read and write them (RFC 3339).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace spate {

// "2027-01-31T12:00:00Z"; what is smaller than a second is cut off. Not for Instant::Never().
std::string FormatUtc(Instant when);
// Reads FormatUtc's text, or "2027-01-31" for the first second of that day; from 1970 to 2261.
Result<Instant> ParseUtc(std::string_view text);

}  // namespace spate
