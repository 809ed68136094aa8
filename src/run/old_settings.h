// The settings of runs whose journals are older than one column format for all
// (wire/client_codec.h): JSON of what their rows need. Nothing writes it, and this goes when such
// journals need not be read.
#pragma once

#include <string_view>

#include "base/result.h"
#include "core/model/job.h"

namespace spate::run {

// Bytes of fields never begin like a JSON object.
inline bool IsOldSettings(std::string_view column) { return column.starts_with('{'); }

// row_kind, command, value_names, record_values, has_source and repeat_context. kCorrupt when it is
// not ours.
Result<JobSettings> ReadOldSettings(std::string_view text);

}  // namespace spate::run
