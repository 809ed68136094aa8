// The messages of clients as bytes (docs/formats/wire.md). Decoders as in codec.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/client_messages.h"

namespace spate::wire {

// Content of a Request's or Reply's frame: the request's id, little endian, and the message.
struct NumberedMessage {
  uint32_t id = 0;
  std::string_view message;
};
inline constexpr size_t kIdBytes = 4;
std::string IdBytes(uint32_t id);
// nullopt: it is too short.
std::optional<NumberedMessage> SplitId(std::string_view frame);

void Append(std::string& out, const Request& message);
void Append(std::string& out, const Reply& message);
Result<Request> DecodeRequest(std::string_view bytes);
Result<Reply> DecodeReply(std::string_view bytes);

// How a hub keeps the settings of a job.
std::string EncodeSettings(const JobSettings& settings);
Result<JobSettings> DecodeSettings(std::string_view bytes);

}  // namespace spate::wire
