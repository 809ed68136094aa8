// Parasol's job list: one command a line, with {check ...} and {use ...} anywhere in it, also in
// words and quotes. There is no shell: quotes are ordinary bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/parasol/formats/job.h"

namespace spate::parasol {

// `name` is that of the file, for errors: they say which line is wrong.
Result<std::vector<ParasolJob>> ReadParasolList(std::string_view text, std::string_view name);

// "512", "64k", "2g": digits and one of k, m, g, t, powers of 1024.
Result<uint64_t> ParseParasolSize(std::string_view text);

// Messages of the failed checks at `when`. `why` looks at one file: "F does not exist", "F is
// empty", "F has an incomplete last line", or nothing when it passes.
std::vector<std::string> FailedChecks(
    std::span<const Check> checks, CheckWhen when,
    const std::function<std::string(CheckKind, const char* file)>& why);

}  // namespace spate::parasol
