// The part of ProcessExecutor for questions about running attempts: each goes to the attempt's
// shepherd, and its answer comes in the order in which that reports what else happens.
//
// How many are under way is bounded, for each attempt and in all, as each answer takes memory. A
// shepherd that hangs answers none, so they count for a while only.
#include <algorithm>
#include <utility>

#include "core/model/resize.h"
#include "node/process_executor.h"
#include "wire/field_bytes.h"

namespace spate::node {
namespace {

constexpr size_t kMostOfOne = 4;
constexpr size_t kMostOfAll = 64;
constexpr Duration kCountsFor = Duration::Seconds(10);

}  // namespace

bool ProcessExecutor::MayAsk(const AttemptRef& ref) {
  const Instant now = loop_.Now();
  std::erase_if(asked_, [&](const auto& each) { return now - each.second.since > kCountsFor; });
  auto of_it = [&](const auto& each) { return each.second.ref == ref; };
  return asked_.size() < kMostOfAll &&
         std::cmp_less(std::ranges::count_if(asked_, of_it), kMostOfOne);
}

void ProcessExecutor::Query(wire::Ask ask, std::function<void(wire::AnswerPiece)> told) {
  if (!MayAsk(ask.ref)) {
    return told(
        wire::AnswerPiece::Failed({ErrorKind::kBusy, "too many look at the task now; try again"}));
  }
  ask.id = ++last_ask_;
  // Before it is asked: the answer of one that has ended comes at once.
  asked_[ask.id] = {ask.ref, loop_.Now(), std::move(told)};
  using Asked = AdoptedShepherds::Asked;
  wire::AnswerPiece none{.kind = wire::AnswerKind::kEnded};
  switch (adopted_ ? adopted_->Query(ask) : Asked::kNotHere) {
    case Asked::kAsked:
      return;
    case Asked::kOlder:
      none = wire::AnswerPiece::Failed(
          {ErrorKind::kUnavailable,
           "the task was started by an older release of the node, which cannot show it"});
      break;
    case Asked::kNotHere:
      if (Slot* slot = SlotOf(ask.ref)) {
        shepherd::Append(slot->out, shepherd::Ask{std::move(ask)});
        return MarkDirty(*slot);
      }
      auto waits_in = [&](const auto& slot) {
        return slot && std::ranges::count(slot->waiting, ask.ref, &StartOrder::ref) > 0;
      };
      if (std::ranges::any_of(slots_, waits_in)) none.kind = wire::AnswerKind::kNotStarted;
  }
  none.id = ask.id;
  OnAnswer(std::move(none));
}

void ProcessExecutor::OnAnswer(wire::AnswerPiece piece) {
  auto asked = asked_.find(piece.id);
  if (asked == asked_.end()) return;
  if (piece.kind == wire::AnswerKind::kMore) return asked->second.told(std::move(piece));
  auto told = std::move(asked->second.told);
  asked_.erase(asked);
  told(std::move(piece));
}

void ProcessExecutor::EndAsks(const AttemptRef& ref) {
  std::vector<uint64_t> ids;
  for (const auto& [id, asked] : asked_) {
    if (asked.ref == ref) ids.push_back(id);
  }
  for (uint64_t id : ids) OnAnswer({.id = id, .kind = wire::AnswerKind::kEnded});
}

// A question to the shepherd, which alone knows what the attempt uses.
void ProcessExecutor::Resize(ResizeOrder order) {
  ResizeRun wanted{.needs = std::move(order.needs),
                   .given = std::move(order.given),
                   .cpus = {order.cpus.begin(), order.cpus.end()},
                   .time_limit = order.time_limit};
  if (!options_.limits_memory) wanted.needs.memory = 0;
  // Not inside this call, as for all events.
  auto tell = [this, exists = exists_, ref = order.ref](std::string refused) {
    loop_.Post([this, exists, ref, refused = std::move(refused)] {
      if (*exists) events_->OnResized(ref, refused);
    });
  };
  Query({.ref = order.ref, .question = ResizeRun::kNumber, .body = wire::BytesOf(wanted)},
        [tell](const wire::AnswerPiece& answer) {
          switch (answer.kind) {
            case wire::AnswerKind::kDone:
              return tell("");
            case wire::AnswerKind::kEnded:
              return;  // its end follows
            case wire::AnswerKind::kNotStarted:
              return tell("it has not started yet; try again");
            case wire::AnswerKind::kUnknown:
              return tell("its shepherd is of an older release, which cannot change it");
            case wire::AnswerKind::kFailed:
            case wire::AnswerKind::kMore:
              return tell(answer.bytes);
          }
        });
}

}  // namespace spate::node
