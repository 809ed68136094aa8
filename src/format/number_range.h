// Ranges of numbers as people type them, and tasks by their number alone.
#pragma once

#include <optional>
#include <string_view>

#include "core/model/selection.h"

namespace spate::format {

// "3", "1-10", "1-10:2"; underscores may stand between digits. nullopt for anything else, also for
// one that runs backwards.
std::optional<NumberRange> ParseNumberRange(std::string_view text);

// In TasksOfJob::names: what begins with this and goes on as a range means tasks by their number,
// whatever they are called. A range by itself also may be a name.
inline constexpr char kNumberMark = '#';
std::optional<NumberRange> ParseMarkedRange(std::string_view name);

}  // namespace spate::format
