// The messages between hub and node: those that are not their own lists of fields (but Ends:
// ends_codec.cc), and the way in and out.
#include "wire/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/units.h"
#include "wire/message_bytes.h"

namespace spate::wire {

// ---- Hello -------------------------------------------------------------------------------------

namespace {

void PutHolds(const std::vector<HeldTasks>& holds, std::vector<uint32_t>& numbers,
              std::vector<TaskRange>& tasks) {
  for (const HeldTasks& held : holds) {
    const auto count = static_cast<uint32_t>(held.tasks.size());
    numbers.insert(numbers.end(), {held.job.value, held.attempt.value, count});
    tasks.insert(tasks.end(), held.tasks.begin(), held.tasks.end());
  }
}

}  // namespace

HelloForm FormOf<Hello>::ToForm(const Hello& message) {
  const Offer& offer = message.offer;
  HelloForm to{.node = message.node,
               .offer = {.node_name = offer.node_name,
                         .slots = offer.slots,
                         .milli_cpus = offer.milli_cpus,
                         .memory = offer.memory,
                         .user = offer.user,
                         .label = offer.labels,
                         .temp_dir = offer.temp_dir},
               .remote = message.remote,
               .clock = message.clock};
  if (offer.end_of_life != Instant::Never()) {
    to.offer.end_of_life = static_cast<uint64_t>(offer.end_of_life.ns);
  }
  for (const NamedOffer& named : offer.named) {
    to.offer.name.push_back(named.name);
    to.offer.pieces.push_back(static_cast<uint32_t>(named.indices.size()));
    to.offer.index.insert(to.offer.index.end(), named.indices.begin(), named.indices.end());
  }
  PutHolds(message.holds, to.holds, to.tasks);
  PutHolds(message.frozen, to.frozen, to.frozen_tasks);
  return to;
}

namespace {

Offer TakeOffer(MessageCheck& in, OfferForm&& from) {
  Offer offer{.node_name = std::move(from.node_name),
              .slots = from.slots,
              .milli_cpus = from.milli_cpus,
              .memory = from.memory,
              .named = {},
              .user = std::move(from.user),
              .labels = std::move(from.label),
              .temp_dir = std::move(from.temp_dir)};
  if (from.end_of_life != 0) offer.end_of_life = Instant{static_cast<int64_t>(from.end_of_life)};
  uint64_t pieces = 0;
  for (uint32_t count : from.pieces) pieces += count;
  if (from.name.size() != from.pieces.size()) {
    in.Defect("offer.pieces", "is not one for each name");
  }
  if (pieces != from.index.size()) in.Defect("offer.index", "is not one for each piece");
  if (!in.ok()) return offer;
  auto index = std::make_move_iterator(from.index.begin());
  for (size_t i = 0; i < from.name.size(); ++i) {
    const auto count = static_cast<std::ptrdiff_t>(from.pieces[i]);
    offer.named.push_back({.name = std::move(from.name[i]), .indices = {index, index + count}});
    index += count;
  }
  return offer;
}

std::vector<HeldTasks> TakeHolds(MessageCheck& in, const std::vector<uint32_t>& numbers,
                                 const std::vector<TaskRange>& tasks) {
  std::vector<HeldTasks> holds;
  if (numbers.size() % 3 != 0) in.Defect("holds", "is not in threes");
  if (numbers.size() / 3 > kWireLimits.holds) in.Defect("holds", "has too many attempts");
  uint64_t ranges = 0;
  for (size_t i = 2; i < numbers.size(); i += 3) ranges += numbers[i];
  if (ranges != tasks.size()) in.Defect("tasks", "is not as many pairs as held");
  auto next = tasks.begin();
  for (size_t i = 0; i < numbers.size() && in.ok(); i += 3) {
    HeldTasks held{in.Id<JobId>("holds", numbers[i]),
                   in.Id<Attempt>("holds", numbers[i + 1]),
                   {next, next + numbers[i + 2]}};
    if (held.tasks.empty()) in.Defect("holds", "has one without tasks");
    next += numbers[i + 2];
    holds.push_back(std::move(held));
  }
  return holds;
}

}  // namespace

Hello FormOf<Hello>::FromForm(MessageCheck& in, HelloForm&& from) {
  Hello hello{.node = from.node,
              .offer = TakeOffer(in, std::move(from.offer)),
              .holds = {},
              .remote = std::move(from.remote),
              .clock = from.clock};
  hello.holds = TakeHolds(in, from.holds, from.tasks);
  hello.frozen = TakeHolds(in, from.frozen, from.frozen_tasks);
  return hello;
}

// ---- NodeState ---------------------------------------------------------------------------------

NodeStateForm FormOf<NodeState>::ToForm(const NodeState& message) {
  constexpr uint64_t kMost = NodeStateForm::kTextBytes;
  NodeStateForm to{.machine = message.machine,
                   .no_room = message.no_room.substr(0, kMost),
                   .clock = message.clock};
  for (const NodeState::Run& run : message.runs) {
    to.runs.push_back(run.ref);
    to.since.push_back(run.since);
    to.left.push_back(run.left.substr(0, kMost));
  }
  if (std::ranges::all_of(to.left, &std::string::empty)) to.left.clear();
  for (const NodeState::Wait& wait : message.waits) {
    const bool in_line = wait.why.kind != ReasonKind::kUnknown;
    (in_line ? to.lines : to.waits).push_back({wait.first, wait.tasks});
    if (in_line) to.lines_why.push_back(wait.why);
    if (!in_line) to.waits_for.push_back(wait.user.substr(0, kMost));
  }
  return to;
}

NodeState FormOf<NodeState>::FromForm(MessageCheck& in, NodeStateForm&& from) {
  NodeState state{.machine = from.machine,
                  .runs = {},
                  .waits = {},
                  .no_room = std::move(from.no_room),
                  .clock = from.clock};
  auto as_many = [&](const char* name, size_t count, size_t as) {
    if (count != as) in.Defect(name, "has a wrong number of values");
  };
  as_many("runs", from.runs.size(), from.since.size());
  as_many("waits", from.waits.size(), from.waits_for.size());
  as_many("lines", from.lines.size(), from.lines_why.size());
  if (!from.left.empty()) as_many("left", from.left.size(), from.runs.size());
  if (!in.ok()) return state;
  from.left.resize(from.runs.size());
  for (size_t i = 0; i < from.runs.size(); ++i) {
    state.runs.push_back({from.runs[i], from.since[i], std::move(from.left[i])});
  }
  for (size_t i = 0; i < from.waits.size(); ++i) {
    state.waits.push_back({from.waits[i].first, from.waits[i].tasks, std::move(from.waits_for[i])});
  }
  for (size_t i = 0; i < from.lines.size(); ++i) {
    Reason& why = from.lines_why[i];
    if (BytesOf(why).size() > NodeStateForm::kTextBytes || why.kind < ReasonKind::kSlotsTaken) {
      in.Defect("lines_why", "is no reason of a node");
    }
    state.waits.push_back({from.lines[i].first, from.lines[i].tasks, "", std::move(why)});
  }
  return state;
}

// ---- The way in --------------------------------------------------------------------------------

void Append(std::string& out, const Greeting& message) { AppendMessage(out, message); }
void Append(std::string& out, const Welcome& message) { AppendMessage(out, message); }
void Append(std::string& out, const Refusal& message) { AppendMessage(out, message); }
void Append(std::string& out, const Heartbeat& message) { AppendMessage(out, message); }
void Append(std::string& out, const OutputPiece& message) { AppendMessage(out, message); }
void Append(std::string& out, const ToNode& message) { KindsOf<ToNode>::Append(out, message); }
void Append(std::string& out, const ToHub& message) { KindsOf<ToHub>::Append(out, message); }

Result<Greeting> DecodeGreeting(std::string_view bytes) {
  return DecodeMessage<Greeting>("greeting", bytes);
}
Result<Welcome> DecodeWelcome(std::string_view bytes) {
  return DecodeMessage<Welcome>("welcome", bytes);
}
Result<Refusal> DecodeRefusal(std::string_view bytes) {
  return DecodeMessage<Refusal>("refusal", bytes);
}
Result<OutputPiece> DecodeOutputPiece(std::string_view bytes) {
  return DecodeMessage<OutputPiece>("output_piece", bytes);
}
Result<ToNode> DecodeToNode(std::string_view bytes) {
  return KindsOf<ToNode>::Decode("to_node", bytes);
}
Result<ToHub> DecodeToHub(std::string_view bytes) {
  // An offer that is too large is refused before it is read, which would take long.
  constexpr uint32_t kOffer = 2;  // of HelloForm
  const size_t offer = FieldIn(FieldIn(bytes, Hello::kNumber), kOffer).size();
  if (offer > kWireLimits.offer_bytes) return Fail(ErrorKind::kCorrupt, OfferTooLarge(offer));
  return KindsOf<ToHub>::Decode("to_hub", bytes);
}

std::string OfferTooLarge(uint64_t bytes) {
  return fmt::format(
      "the labels, resources and names of the node take {}, but the limit is {}: start it with "
      "fewer of them",
      FormatSize(bytes), FormatSize(kWireLimits.offer_bytes));
}

}  // namespace spate::wire
