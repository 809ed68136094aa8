// Reasons (core/model/why.h) as JSON, with the names of their arguments (docs/formats/json.md).
#pragma once

#include "core/model/why.h"
#include "present/json/json_fields.h"

namespace spate::present {

// [{"kind":"after-job","job":3,"after":0,"task":0}]. Those of a newer release are left out, and so
// are clauses that only join others.
Json ReasonsJson(const Why& why);

}  // namespace spate::present
