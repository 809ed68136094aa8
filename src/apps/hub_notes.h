// What only the hub knows of waiting jobs, for people, and for its reader.
#pragma once

#include <string>
#include <string_view>

#include "hub/service.h"
#include "wire/client_messages.h"

namespace spate::apps {

// Asks for the first failures of a job (cli::JobFailures): this word and its number.
inline constexpr std::string_view kFailuresWord = "__failures";

// Commands in a text of the engine mean jobs of this hub also where the reader is.
std::string Reaching(std::string text, std::string_view reach);

// `job info` is told why its jobs wait, and who follows a job's output why none comes, which the
// journal does not know.
void AddNotes(hub::Service& service, const hub::Caller& caller, wire::Command& command);

// Why this task (from 1) does not run now; empty: the journal knows better, as it has ended.
// `reach` as of wire::Command.
std::string WhyWaits(const hub::Service& service, JobId job, uint32_t task, std::string_view reach);

}  // namespace spate::apps
