// What only the hub knows of waiting jobs, for people, and for its reader.
#pragma once

#include <string_view>

#include "hub/service.h"
#include "wire/client_messages.h"

namespace spate::apps {

// Asks for the first failures of a job (cli::JobFailures): this word and its number.
inline constexpr std::string_view kFailuresWord = "__failures";

// `job info` is told why its jobs wait, and who follows a job's output why none comes, which the
// journal does not know.
void AddNotes(hub::Service& service, const hub::Caller& caller, wire::Command& command);

}  // namespace spate::apps
