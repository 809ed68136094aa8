// Packets between a master and a slave, as the row and the output of one attempt: some tasks
// that are computed one after the other, and the result of each (docs/formats/mw-packets.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_list.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace spate::mw {

// Limits for one task: what goes in a frame with other words, and what a stream may have.
inline constexpr size_t kArgumentBytes = 4'000'000;
inline constexpr size_t kResultBytes = 1'000'000'000;

// Limit of one broadcast value, and of such values that a task's arguments may name.
inline constexpr size_t kConstantBytes = 1'000'000'000;
inline constexpr size_t kConstantsOfTask = 1'000;

// On the way a constant has the number of a job that cannot be: the low half of its id.
inline constexpr uint32_t kConstantMark = 1u << 31;
inline JobId NumberOf(uint64_t id) { return JobId(static_cast<uint32_t>(id)); }
inline bool IsConstant(JobId number) { return (number.value & kConstantMark) != 0; }

// A constant that a task needs: its slave asks for it, unless it has it.
struct NamedConstant {
  uint64_t id = 0;
  uint64_t size = 0;  // in bytes, at most kConstantBytes
  friend bool operator==(const NamedConstant&, const NamedConstant&) = default;
};

// Views refer to whatever the packet was made of, or to its bytes.
struct Call {
  uint64_t task = 0;  // TASK-m
  std::string_view algorithm;
  uint32_t tries = 1;  // so often it is called when it throws
  std::string_view arguments;
  Duration limit = {};  // of its time; 0: none
  std::vector<NamedConstant> constants = {};
  // A slave that is lost with it counts, so the master must know when it is begun.
  bool counts_losses = false;
  friend bool operator==(const Call&, const Call&) = default;
};
std::string WriteCalls(std::span<const Call> calls);
// kInvalid: that is no packet of calls.
Result<std::vector<Call>> ReadCalls(std::string_view bytes);

SPATE_ENUM(CallEnd,
    kDone, "done",         // bytes are the value
    kThrew, "threw",       // bytes are what it said, for people
    kUnknown, "unknown",   // the slave has no such algorithm
    kTooLong, "too-long",  // the value takes more bytes than go
    // it took longer than its limit; the slave ends, and may not answer for other tasks
    kOverdue, "overdue");
struct Answer {
  uint64_t task = 0;
  CallEnd end = CallEnd::kDone;
  Duration time;  // that its last try took
  std::string_view bytes;
  friend bool operator==(const Answer&, const Answer&) = default;
};
// Adds an answer to a packet, which begins empty.
void AddAnswer(std::string& packet, const Answer& answer);
Result<std::vector<Answer>> ReadAnswers(std::string_view packet);

}  // namespace spate::mw
