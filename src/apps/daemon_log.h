// What a daemon tells whoever looks after it: lines with the time on standard error, which is the
// terminal, the system's journal, or the file that Background gave it.
#pragma once

#include <string_view>

namespace spate::apps {

void LogLine(std::string_view text);

}  // namespace spate::apps
