// The messages of clients that are not their own lists of fields, and the way in and out.
#include "wire/client_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/model/limits.h"
#include "wire/client_forms.h"
#include "wire/message_bytes.h"

namespace spate::wire {
namespace {

// Bytes of one Edges, which takes four times as much when it is read; our clients send a tenth.
constexpr size_t kEdgesBytes = 1 << 20;

}  // namespace

// ---- Client to hub -----------------------------------------------------------------------------

Submit FormOf<Submit>::ToForm(const Submit& message) {
  Submit submit = message;
  submit.max_running = message.policy.max_running;
  submit.weight = message.policy.weight;
  return submit;
}

Submit FormOf<Submit>::FromForm(MessageCheck&, Submit&& from) {
  from.policy.max_running = from.max_running;
  from.policy.weight = from.weight == 0 ? kJobWeight : std::min(from.weight, kMaxJobWeight);
  return std::move(from);
}

SubmitEndForm FormOf<SubmitEnd>::ToForm(const SubmitEnd& message) {
  SubmitEndForm to{.count = message.count,
                   .requests = message.requests,
                   .order = message.order,
                   .known_tasks = message.known_tasks};
  for (const RequestRun& run : message.runs) to.runs.push_back({run.count, run.request});
  return to;
}

SubmitEnd FormOf<SubmitEnd>::FromForm(MessageCheck& in, SubmitEndForm&& from) {
  SubmitEnd end{.count = from.count,
                .requests = std::move(from.requests),
                .runs = {},
                .order = std::move(from.order),
                .known_tasks = from.known_tasks};
  uint64_t next = 0;
  end.runs.reserve(from.runs.size());
  for (const auto& [count, request] : from.runs) {
    end.runs.push_back({static_cast<TaskIndex>(next), count, request});
    next += count;
    if (next > end.count || request >= end.requests.size()) in.Defect("runs", "is out of range");
  }
  if (next != end.count) in.Defect("runs", "is not for each task");
  if (!end.order.empty() && end.order.size() != end.count) {
    in.Defect("order", "is not one for each task");
  }
  std::vector<bool> seen(in.ok() ? end.order.size() : 0);
  for (size_t i = 0; i < end.order.size() && in.ok(); ++i) {
    const TaskIndex index = end.order[i];
    if (index >= end.count || seen[index]) in.Defect("order", "does not name each task once");
    if (in.ok()) seen[index] = true;
  }
  return end;
}

QueryForm FormOf<Query>::ToForm(const Query& message) {
  return {message.question.number(), message.question.body()};
}

Query FormOf<Query>::FromForm(MessageCheck&, QueryForm&& from) {
  return Query{Question(from.question, std::move(from.body))};
}

// ---- Hub to client -----------------------------------------------------------------------------

EndsReadForm FormOf<EndsRead>::ToForm(const EndsRead& message) {
  EndsReadForm to{.ends = {},
                  .verdict = message.verdicts,
                  .position = message.position,
                  .finished = message.finished};
  if (!message.ends.ends.empty()) to.ends = FormOf<Ends>::ToForm(message.ends);
  return to;
}

EndsRead FormOf<EndsRead>::FromForm(MessageCheck& in, EndsReadForm&& from) {
  EndsRead read{.ends = {},
                .verdicts = std::move(from.verdict),
                .position = from.position,
                .finished = from.finished};
  if (from.ends) read.ends = FormOf<Ends>::FromForm(in, std::move(*from.ends));
  if (read.verdicts.size() != read.ends.ends.size()) {
    in.Defect("verdict", "is not one for each end");
  }
  return read;
}

// ---- The way in --------------------------------------------------------------------------------

std::string IdBytes(uint32_t id) {
  std::string bytes;
  for (size_t i = 0; i < kIdBytes; ++i) bytes.push_back(static_cast<char>(id >> 8 * i & 0xFF));
  return bytes;
}

std::optional<NumberedMessage> SplitId(std::string_view frame) {
  if (frame.size() < kIdBytes) return std::nullopt;
  uint32_t id = 0;
  for (size_t i = 0; i < kIdBytes; ++i) id |= uint32_t{static_cast<uint8_t>(frame[i])} << 8 * i;
  return NumberedMessage{id, frame.substr(kIdBytes)};
}

void Append(std::string& out, const Request& message) { KindsOf<Request>::Append(out, message); }
void Append(std::string& out, const Reply& message) { KindsOf<Reply>::Append(out, message); }

Result<Request> DecodeRequest(std::string_view bytes) {
  if (FieldIn(bytes, Edges::kNumber).size() > kEdgesBytes) {
    return Fail(ErrorKind::kCorrupt, "a damaged message: edges has too many of them");
  }
  return KindsOf<Request>::Decode("request", bytes, "; use the hub's version");
}

Result<Reply> DecodeReply(std::string_view bytes) { return KindsOf<Reply>::Decode("reply", bytes); }

std::string EncodeSettings(const JobSettings& settings) { return BytesOf(settings); }

Result<JobSettings> DecodeSettings(std::string_view bytes) {
  return DecodeMessage<JobSettings>("job.settings", bytes);
}

}  // namespace spate::wire
