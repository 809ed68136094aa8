// The known name that a mistyped word most likely means.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace spate {

// The number of bytes to insert, delete, replace or swap with their neighbour to turn `a` into
// `b`. Stops at `bound` and returns it when there is more to do.
size_t EditDistance(std::string_view a, std::string_view b, size_t bound);

// The nearest of `names`, the first of equals; nullopt when none is near enough to be meant (a
// third of the longer one's bytes, at least one). Upper and lower case count as equal. The view
// points into `names`.
std::optional<std::string_view> Nearest(std::string_view word,
                                        std::span<const std::string_view> names);

// "; did you mean NAME?" for the nearest name, "" when none is near.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> names);

}  // namespace spate
