// The note of an attempt's end: a line for each thing that somebody should know.
#pragma once

#include <string_view>

#include "core/model/attempt.h"

namespace spate::shepherd {

inline void AddNote(AttemptEnd& end, std::string_view text) {
  if (!end.note.empty()) end.note += "\n";
  end.note += text;
}

}  // namespace spate::shepherd
