// The headers that most sources include, parsed once for all of them (SpateTargets.cmake): a third of the compiler's time goes to
// parsing. Only headers of the system: whoever changes one of ours compiles no more than what includes it.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
