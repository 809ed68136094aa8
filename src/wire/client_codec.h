// The messages of clients as bytes (client.proto, docs/formats/wire.md). Decoders as in codec.h.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/client_messages.h"

namespace spate::wire {

void Append(std::string& out, const Request& message);
void Append(std::string& out, const Reply& message);
Result<Request> DecodeRequest(std::string_view bytes);
Result<Reply> DecodeReply(std::string_view bytes);

// How a hub keeps the settings of a job.
std::string EncodeSettings(const JobSettings& settings);
Result<JobSettings> DecodeSettings(std::string_view bytes);

}  // namespace spate::wire
