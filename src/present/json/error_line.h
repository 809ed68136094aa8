// An error as a line of JSON, for commands with --json that could not do what they were asked.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace spate::present {

// `text` is the whole message, with what to do; `code` the exit code. docs/formats/json.md,
// `error`.
std::string ErrorLine(const Error& error, std::string_view text, int code);

}  // namespace spate::present
