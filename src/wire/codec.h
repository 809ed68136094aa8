// Messages as bytes (docs/formats/wire.md).
//
// Decoders take any bytes. What they give is within kWireLimits, has all that a message must have,
// and fits together: as many rows as tasks, ranges that do not overflow, enums that exist. Else
// the error (kCorrupt) names the field. Fields that this version does not know are ignored.
//
// Output that is apart from its end (OutputStream::IsApart) is not written here. The sender of an
// Ends passes such a stream first, as OutputPieces; in the Ends it counts by its length only, and
// arrives as an OutputStream with that total and neither bytes nor spool.
//
// The bytes are Protocol Buffers': `protoc --decode_raw` reads them. Types that list their fields
// (core/model/fields.h) say all there is to say of most messages (message_bytes.h); the others have
// a form that does (message_forms.h).
//
// A message may be any length; Split (pieces.h) cuts those that are too long for a frame.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/greeting.h"
#include "wire/messages.h"

namespace spate::wire {

// Each appends to `out`. Text for people that is too long is cut.
void Append(std::string& out, const Greeting& message);
void Append(std::string& out, const Welcome& message);
void Append(std::string& out, const Refusal& message);
void Append(std::string& out, const Heartbeat& message);
void Append(std::string& out, const ToNode& message);
void Append(std::string& out, const ToHub& message);
void Append(std::string& out, const OutputPiece& message);

Result<Greeting> DecodeGreeting(std::string_view bytes);
Result<Welcome> DecodeWelcome(std::string_view bytes);
Result<Refusal> DecodeRefusal(std::string_view bytes);
Result<ToNode> DecodeToNode(std::string_view bytes);
Result<ToHub> DecodeToHub(std::string_view bytes);
Result<OutputPiece> DecodeOutputPiece(std::string_view bytes);

// The error for a node whose offer takes this number of bytes, more than kWireLimits.offer_bytes,
// in its message or in the hub's memory.
std::string OfferTooLarge(uint64_t bytes);

}  // namespace spate::wire
