// Words for what a gang was told of its start, and when it started.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/model/job_facts.h"
#include "present/json/json_fields.h"

namespace spate::present {

// A line for each news: "expected by 2026-07-03 12:40:05 (2026-07-03 12:30:00: first in line)", and
// then, if it has `started`, by how much that was later. Without news there are none.
std::vector<std::string> StartLines(const GangStory& story, std::optional<Instant> started);
// An array of objects with at, start (both in seconds or null) and reason.
Json StartNewsJson(const GangStory& story);

}  // namespace spate::present
