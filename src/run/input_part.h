// `spate __part HEADER OFFSET LENGTH FILE`: the first command of a task of --pipepart, which gives
// the task its part of the file (format/input_row.h).
#pragma once

#include <optional>

namespace spate::run {

// The exit code when this process was started as one, else nothing.
std::optional<int> PartEntry(int argc, char** argv);

}  // namespace spate::run
