// The messages between hub and node but Ends (ends_codec.cc), and OutputPiece. Put fills a protobuf
// message, Take checks one and gives ours. Columns and texts, not objects, so a message of N bytes
// takes a small multiple of N to read.
#include "wire/codec.h"

#include <fmt/format.h>
#include <wire/spate.pb.h>

#include <memory>
#include <utility>

#include "base/units.h"
#include "core/model/field_bytes.h"
#include "core/model/limits.h"
#include "wire/ends_codec.h"
#include "wire/fields.h"
#include "wire/limits.h"
#include "wire/long_field.h"
#include "wire/model_codec.h"

namespace spate::wire {
namespace {

// The most bytes of an OutputPiece without its own bytes.
constexpr size_t kPieceHeadMost = 64;

// ---- Parts -------------------------------------------------------------------------------------

void PutRef(pb::AttemptRef& to, const AttemptRef& ref) {
  to.set_job(ref.job.value);
  to.set_index(ref.index);
  to.set_attempt(ref.attempt.value);
}

AttemptRef TakeRef(FieldReader& in, const pb::AttemptRef& from) {
  AttemptRef ref;
  ref.job = in.Id<JobId>("ref.job", from.job());
  ref.index = in.Number<TaskIndex>("ref.index", from.index(), 0, kLimits.tasks_per_job - 1);
  ref.attempt = in.Id<Attempt>("ref.attempt", from.attempt());
  return ref;
}

void PutOffer(pb::Offer& to, const Offer& offer) {
  to.set_node_name(offer.node_name);
  to.set_slots(offer.slots);
  to.set_milli_cpus(offer.milli_cpus);
  to.set_memory(offer.memory);
  std::vector<std::string> names;
  std::vector<std::string> indices;
  for (const NamedOffer& named : offer.named) {
    names.push_back(named.name);
    to.add_pieces(static_cast<uint32_t>(named.indices.size()));
    indices.insert(indices.end(), named.indices.begin(), named.indices.end());
  }
  PutTexts(*to.mutable_name(), names);
  PutTexts(*to.mutable_index(), indices);
  to.set_user(offer.user);
  if (!offer.labels.empty()) PutTexts(*to.mutable_label(), offer.labels);
  if (offer.end_of_life != Instant::Never()) to.set_end_of_life(offer.end_of_life.ns);
  to.set_temp_dir(offer.temp_dir);
}

Offer TakeOffer(FieldReader& in, const pb::Offer& from) {
  Offer offer;
  offer.node_name = in.Text("offer.node_name", from.node_name(), kWireLimits.name_bytes, true);
  offer.slots = in.Number<uint32_t>("offer.slots", from.slots(), 1, kLimits.slots);
  offer.milli_cpus = from.milli_cpus();
  offer.memory = in.Number<uint64_t>("offer.memory", from.memory(), 0, kWireLimits.size);
  auto names = in.Texts("offer.name", from.name(), kWireLimits.name_bytes);
  auto indices = in.Texts("offer.index", from.index(), kWireLimits.name_bytes);
  in.Sorted("offer.name", names);
  uint64_t pieces = 0;
  for (uint32_t count : from.pieces()) pieces += count;
  if (names.size() != static_cast<size_t>(from.pieces_size())) {
    in.Defect("offer.pieces", "is not one for each name");
  }
  if (pieces != indices.size()) in.Defect("offer.index", "is not one for each piece");
  offer.user = in.Text("offer.user", from.user(), kWireLimits.name_bytes);
  offer.labels = in.Texts("offer.label", from.label(), kWireLimits.name_bytes);
  in.Sorted("offer.label", offer.labels);
  auto end_of_life = in.Number<int64_t>("offer.end_of_life", from.end_of_life(), 0, INT64_MAX);
  if (end_of_life != 0) offer.end_of_life = Instant{end_of_life};
  offer.temp_dir = in.Text("offer.temp_dir", from.temp_dir(), kWireLimits.text_bytes);
  if (!in.ok()) return offer;
  auto index = std::make_move_iterator(indices.begin());
  for (size_t i = 0; i < names.size(); ++i) {
    auto count = static_cast<std::ptrdiff_t>(from.pieces(static_cast<int>(i)));
    offer.named.push_back({.name = std::move(names[i]), .indices = {index, index + count}});
    index += count;
  }
  return offer;
}

void PutHolds(pb::Hello& to, const std::vector<HeldTasks>& holds) {
  for (const HeldTasks& held : holds) {
    to.add_holds(held.job.value);
    to.add_holds(held.attempt.value);
    to.add_holds(static_cast<uint32_t>(held.tasks.size()));
    PutRanges(*to.mutable_tasks(), held.tasks);
  }
}

std::vector<HeldTasks> TakeHolds(FieldReader& in, const pb::Hello& from) {
  std::vector<HeldTasks> holds;
  if (from.holds_size() % 3 != 0) in.Defect("holds", "is not in threes");
  if (static_cast<uint32_t>(from.holds_size()) / 3 > kWireLimits.holds) {
    in.Defect("holds", "has too many attempts");
  }
  uint64_t pairs = 0;
  for (int i = 2; i < from.holds_size(); i += 3) pairs += from.holds(i);
  if (pairs * 2 != static_cast<uint64_t>(from.tasks_size())) {
    in.Defect("tasks", "is not as many pairs as held");
  }
  if (from.holds().empty() || !in.ok()) return holds;
  auto tasks = in.Ranges("tasks", from.tasks(), kLimits.tasks_per_job);
  if (!in.ok()) return holds;
  auto next = tasks.begin();
  for (int i = 0; i < from.holds_size() && in.ok(); i += 3) {
    HeldTasks held{in.Id<JobId>("holds", from.holds(i)),
                   in.Id<Attempt>("holds", from.holds(i + 1)),
                   {next, next + from.holds(i + 2)}};
    if (held.tasks.empty()) in.Defect("holds", "has one without tasks");
    next += from.holds(i + 2);
    holds.push_back(std::move(held));
  }
  return holds;
}

int TakeStream(FieldReader& in, uint32_t stream, uint32_t most) {
  return in.Number<int>("stream", stream, 1, most);
}

// ---- Hub to node -------------------------------------------------------------------------------

void Put(pb::ToNode& to, const OpenJob& message) {
  to.mutable_open_job()->set_job(message.job.value);
  AppendBytes(*to.mutable_open_job()->mutable_settings(), *message.settings);
}
// Its rows may be long.
void AppendLease(std::string& out, const Lease& message) {
  pb::Lease head, tail;
  head.set_epoch(message.epoch.value);
  head.set_job(message.job.value);
  head.set_attempt(message.attempt.value);
  AppendBytes(*head.mutable_needs(), message.needs);
  PutRanges(*head.mutable_tasks(), message.tasks);
  if (message.part) AppendBytes(*tail.mutable_part(), *message.part);
  AppendLongTexts(out, pb::ToNode::kLeaseFieldNumber, head.SerializeAsString(),
                  pb::Lease::kRowsFieldNumber, message.rows, tail.SerializeAsString());
}
void Put(pb::ToNode& to, const Go& message) {
  to.mutable_go()->set_epoch(message.epoch.value);
  PutRef(*to.mutable_go()->mutable_ref(), message.ref);
}
void Put(pb::ToNode& to, const Recall& message) {
  to.mutable_recall()->set_epoch(message.epoch.value);
  to.mutable_recall()->set_job(message.job.value);
}
void Put(pb::ToNode& to, const Stop& message) {
  to.mutable_stop()->set_epoch(message.epoch.value);
  to.mutable_stop()->set_job(message.job.value);
  PutRanges(*to.mutable_stop()->mutable_tasks(), message.tasks);
}
void Put(pb::ToNode& to, const Drop& message) {
  auto& drop = *to.mutable_drop();
  drop.set_epoch(message.epoch.value);
  drop.set_job(message.job.value);
  drop.set_attempt(message.attempt.value);
  PutRanges(*drop.mutable_tasks(), message.tasks);
}
void Put(pb::ToNode& to, const ReportsTaken& message) {
  to.mutable_reports_taken()->set_number(message.number);
}
void Put(pb::ToNode& to, const CloseJob& message) {
  to.mutable_close_job()->set_job(message.job.value);
}
void Put(pb::ToNode& to, const PutPiece& message) {
  to.mutable_put_piece()->set_job(message.job.value);
  to.mutable_put_piece()->set_piece(message.piece);
  to.mutable_put_piece()->set_bytes(message.bytes);
}
void Put(pb::ToNode& to, const Ask& message) { AppendBytes(*to.mutable_ask(), message); }
void Put(pb::ToNode& to, const AnswerTaken& message) {
  AppendBytes(*to.mutable_answer_taken(), message);
}

ToNode Decode(FieldReader& in, const pb::OpenJob& from) {
  in.Within("open_job");
  auto job = in.Id<JobId>("job", from.job());
  if (!from.has_settings()) in.Defect("settings", "is missing");
  auto settings = std::make_shared<const JobSettings>(
      DecodeFields<JobSettings>(in, "settings", from.settings()));
  return OpenJob{job, std::move(settings)};
}
ToNode DecodeLease(FieldReader& in, std::string_view bytes) {
  in.Within("lease");
  Lease lease;
  auto rows = CutLongField(bytes, pb::Lease::kRowsFieldNumber);
  pb::Lease from;
  if (!rows || !from.ParseFromString(rows->rest)) {
    in.Defect("", "cannot be parsed");
    return lease;
  }
  lease.epoch = in.Id<Epoch>("epoch", from.epoch());
  lease.job = in.Id<JobId>("job", from.job());
  lease.attempt = in.Id<Attempt>("attempt", from.attempt());
  if (!from.has_needs()) in.Defect("needs", "is missing");
  lease.needs = DecodeFields<Needs>(in, "needs", from.needs());
  lease.tasks = in.Ranges("tasks", from.tasks(), kWireLimits.lease_tasks);
  uint64_t tasks = 0;
  for (TaskRange range : lease.tasks) tasks += range.count;
  lease.rows = in.LongTexts("rows", rows->bytes, kWireLimits.row_bytes, kWireLimits.lease_tasks);
  if (lease.rows.size() != tasks) in.Defect("rows", "is not one for each task");
  if (!from.has_part()) return lease;
  auto part = std::make_shared<const GangPart>(DecodeFields<GangPart>(in, "part", from.part()));
  if (tasks != 1) in.Defect("tasks", "is not the one of a gang");
  lease.part = std::move(part);
  return lease;
}
ToNode Decode(FieldReader& in, const pb::Go& from) {
  in.Within("go");
  Go go{in.Id<Epoch>("epoch", from.epoch()), TakeRef(in, from.ref())};
  return go;
}
ToNode Decode(FieldReader& in, const pb::Recall& from) {
  in.Within("recall");
  Recall recall{in.Id<Epoch>("epoch", from.epoch()), in.Id<JobId>("job", from.job())};
  return recall;
}
ToNode Decode(FieldReader& in, const pb::Stop& from) {
  in.Within("stop");
  Stop stop{in.Id<Epoch>("epoch", from.epoch()), in.Id<JobId>("job", from.job()), {}};
  if (!from.tasks().empty()) stop.tasks = in.Ranges("tasks", from.tasks(), kLimits.tasks_per_job);
  return stop;
}
ToNode Decode(FieldReader& in, const pb::Drop& from) {
  in.Within("drop");
  Drop drop;
  drop.epoch = in.Id<Epoch>("epoch", from.epoch());
  drop.job = in.Id<JobId>("job", from.job());
  drop.attempt = in.Id<Attempt>("attempt", from.attempt());
  drop.tasks = in.Ranges("tasks", from.tasks(), kLimits.tasks_per_job);
  return drop;
}
ToNode Decode(FieldReader&, const pb::ReportsTaken& from) { return ReportsTaken{from.number()}; }
ToNode Decode(FieldReader& in, const pb::CloseJob& from) {
  in.Within("close_job");
  return CloseJob{in.Id<JobId>("job", from.job())};
}
ToNode Decode(FieldReader& in, const pb::PutPiece& from) {
  in.Within("put_piece");
  auto job = in.Id<JobId>("job", from.job());
  if (from.bytes().size() > kPutPieceBytes) in.Defect("bytes", "is too long");
  return PutPiece{job, from.piece(), from.bytes()};
}

// ---- Node to hub -------------------------------------------------------------------------------

void Put(pb::ToHub& to, const Hello& message) {
  to.mutable_hello()->set_node(message.node.value);
  PutOffer(*to.mutable_hello()->mutable_offer(), message.offer);
  PutHolds(*to.mutable_hello(), message.holds);
  to.mutable_hello()->set_remote(message.remote);
  to.mutable_hello()->set_clock(message.clock.ns);
}
void Put(pb::ToHub& to, const Ends& message) { PutEnds(*to.mutable_ends(), message); }
void Put(pb::ToHub& to, const Returned& message) {
  auto& returned = *to.mutable_returned();
  returned.set_job(message.job.value);
  returned.set_attempt(message.attempt.value);
  returned.set_number(message.number);
  PutRanges(*returned.mutable_tasks(), message.tasks);
}
void Put(pb::ToHub& to, const Running& message) {
  PutRef(*to.mutable_running()->mutable_ref(), message.ref);
  to.mutable_running()->set_slot(message.slot);
}
void Put(pb::ToHub& to, const Live& message) {
  PutRef(*to.mutable_live()->mutable_ref(), message.ref);
  to.mutable_live()->set_stream(static_cast<uint32_t>(message.stream));
  to.mutable_live()->set_bytes(message.bytes);
}
void Put(pb::ToHub& to, const Slow& message) {
  PutRef(*to.mutable_slow()->mutable_ref(), message.ref);
}
void Put(pb::ToHub& to, const Paused& message) {
  to.mutable_paused()->set_reason(Note(message.reason));
}
// A few names with their numbers; of thousands of tasks in one message.
constexpr uint64_t kLeftBytes = 1000;
void Put(pb::ToHub& to, const NodeState& message) {
  auto& state = *to.mutable_state();
  state.set_load(message.machine.load);
  state.set_free_memory(message.machine.free_memory);
  state.set_cpu_pressure(message.machine.cpu_pressure);
  state.set_memory_pressure(message.machine.memory_pressure);
  state.set_io_pressure(message.machine.io_pressure);
  state.set_clock(message.clock.ns);
  for (const NodeState::Run& run : message.runs) {
    for (uint32_t v : {run.ref.job.value, run.ref.index, uint32_t{run.ref.attempt.value}}) {
      state.add_runs(v);
    }
    state.add_since(run.since.ns);
  }
  std::vector<std::string> users;
  for (const NodeState::Wait& wait : message.waits) {
    const AttemptRef& ref = wait.first;
    const bool in_line = wait.why.kind != ReasonKind::kUnknown;
    for (uint32_t v : {ref.job.value, ref.index, uint32_t{ref.attempt.value}, wait.tasks}) {
      (in_line ? state.mutable_lines() : state.mutable_waits())->Add(v);
    }
    if (!in_line) users.push_back(wait.user.substr(0, kLeftBytes));
    if (in_line) AppendBytes(*state.add_lines_why(), wait.why);
  }
  if (!users.empty()) PutTexts(*state.mutable_waits_for(), users);
  if (!message.no_room.empty()) state.set_no_room(message.no_room.substr(0, kLeftBytes));
  bool left = std::ranges::any_of(message.runs, [](const auto& run) { return !run.left.empty(); });
  if (!left) return;
  std::vector<std::string> texts;
  for (const NodeState::Run& run : message.runs) texts.push_back(run.left.substr(0, kLeftBytes));
  PutTexts(*state.mutable_left(), texts);
}
void Put(pb::ToHub& to, const Leaving&) { to.mutable_leaving(); }
void Put(pb::ToHub& to, const RoomTaken& message) {
  PutRef(*to.mutable_room_taken()->mutable_ref(), message.ref);
}
void Put(pb::ToHub& to, const WantPiece& message) {
  to.mutable_want_piece()->set_job(message.job.value);
  to.mutable_want_piece()->set_piece(message.piece);
}
void Put(pb::ToHub& to, const AnswerPiece& message) {
  AppendBytes(*to.mutable_answer_piece(), message);
}

ToHub Decode(FieldReader& in, const pb::Hello& from) {
  in.Within("hello");
  Hello hello;
  hello.node = in.Id<NodeId>("node", from.node());
  if (!from.has_offer()) in.Defect("offer", "is missing");
  hello.offer = TakeOffer(in, from.offer());
  hello.holds = TakeHolds(in, from);
  hello.remote = in.Text("remote", from.remote(), kWireLimits.name_bytes);
  hello.clock = {from.clock()};
  return hello;
}
ToHub Decode(FieldReader& in, const pb::Returned& from) {
  in.Within("returned");
  Returned returned;
  returned.job = in.Id<JobId>("job", from.job());
  returned.attempt = in.Id<Attempt>("attempt", from.attempt());
  returned.number = from.number();
  returned.tasks = in.Ranges("tasks", from.tasks(), kLimits.tasks_per_job);
  return returned;
}
ToHub Decode(FieldReader& in, const pb::Running& from) {
  in.Within("running");
  AttemptRef ref = TakeRef(in, from.ref());
  auto slot = in.Number<uint16_t>("slot", from.slot(), 0, kLimits.slots);
  return Running{ref, slot};
}
ToHub Decode(FieldReader& in, const pb::RoomTaken& from) {
  in.Within("room_taken");
  return RoomTaken{TakeRef(in, from.ref())};
}
ToHub Decode(FieldReader& in, const pb::Live& from) {
  in.Within("live");
  AttemptRef ref = TakeRef(in, from.ref());
  int stream = TakeStream(in, from.stream(), 2);
  return Live{ref, stream, in.Text("bytes", from.bytes(), kWireLimits.piece_bytes)};
}
ToHub Decode(FieldReader& in, const pb::Slow& from) {
  in.Within("slow");
  AttemptRef ref = TakeRef(in, from.ref());
  return Slow{ref};
}
ToHub Decode(FieldReader& in, const pb::Paused& from) {
  in.Within("paused");
  std::string reason = in.Text("reason", from.reason(), kWireLimits.note_bytes);
  return Paused{std::move(reason)};
}
ToHub Decode(FieldReader& in, const pb::WantPiece& from) {
  in.Within("want_piece");
  auto job = in.Id<JobId>("job", from.job());
  return WantPiece{job, from.piece()};
}

double TakeFigure(FieldReader& in, std::string_view field, double v) {
  if (!(v >= 0 && v < 1e9)) in.Defect(field, "is out of range");
  return v;
}
AttemptRef RefOf(FieldReader& in, uint32_t job, uint32_t index, uint32_t attempt) {
  pb::AttemptRef ref;
  ref.set_job(job);
  ref.set_index(index);
  ref.set_attempt(attempt);
  return TakeRef(in, ref);
}
ToHub Decode(FieldReader& in, const pb::NodeState& from) {
  in.Within("state");
  NodeState state;
  state.machine = {.free_memory = from.free_memory(),
                   .load = TakeFigure(in, "load", from.load()),
                   .cpu_pressure = TakeFigure(in, "cpu_pressure", from.cpu_pressure()),
                   .memory_pressure = TakeFigure(in, "memory_pressure", from.memory_pressure()),
                   .io_pressure = TakeFigure(in, "io_pressure", from.io_pressure())};
  state.no_room = in.Text("no_room", from.no_room(), kLeftBytes);
  state.clock = {from.clock()};
  int count = from.since_size();
  if (std::cmp_greater(count, kLimits.slots) || from.runs_size() != 3 * count) {
    in.Defect("runs", "has a wrong number of values");
    return state;
  }
  auto users = in.Texts("waits_for", from.waits_for(), kLeftBytes, kNodeWaits);
  if (std::cmp_not_equal(from.waits_size(), 4 * users.size())) {
    in.Defect("waits", "has a wrong number of values");
    return state;
  }
  for (int i = 0; std::cmp_less(i, users.size()); ++i) {
    const AttemptRef ref =
        RefOf(in, from.waits(4 * i), from.waits(4 * i + 1), from.waits(4 * i + 2));
    state.waits.push_back({ref, from.waits(4 * i + 3), std::move(users[static_cast<size_t>(i)])});
  }
  if (std::cmp_greater(from.lines_why_size(), kNodeWaits) ||
      from.lines_size() != 4 * from.lines_why_size()) {
    in.Defect("lines", "has a wrong number of values");
    return state;
  }
  for (int i = 0; i < from.lines_why_size(); ++i) {
    const AttemptRef ref =
        RefOf(in, from.lines(4 * i), from.lines(4 * i + 1), from.lines(4 * i + 2));
    auto why = in.Fields<Reason>("lines_why", from.lines_why(i));
    if (from.lines_why(i).size() > kLeftBytes || why.kind < ReasonKind::kSlotsTaken) {
      in.Defect("lines_why", "is no reason of a node");
    }
    state.waits.push_back({ref, from.lines(4 * i + 3), "", std::move(why)});
  }
  auto left = in.Texts("left", from.left(), kLeftBytes, kLimits.slots);
  if (!left.empty() && std::cmp_not_equal(left.size(), count)) {
    in.Defect("left", "is not one for each run");
    return state;
  }
  left.resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    state.runs.push_back({RefOf(in, from.runs(3 * i), from.runs(3 * i + 1), from.runs(3 * i + 2)),
                          {from.since(i)},
                          std::move(left[static_cast<size_t>(i)])});
  }
  return state;
}

}  // namespace

// ---- The way in --------------------------------------------------------------------------------

void Append(std::string& out, const ToNode& message) {
  if (const auto* lease = std::get_if<Lease>(&message)) return AppendLease(out, *lease);
  pb::ToNode to;
  std::visit(
      [&](const auto& each) {
        if constexpr (!std::is_same_v<decltype(each), const Lease&>) Put(to, each);
      },
      message);
  AppendPb(out, to);
}

void Append(std::string& out, const ToHub& message) {
  pb::ToHub to;
  std::visit([&](const auto& each) { Put(to, each); }, message);
  AppendPb(out, to);
}

void Append(std::string& out, const OutputPiece& message) {
  pb::OutputPiece to;
  PutRef(*to.mutable_ref(), message.ref);
  to.set_stream(static_cast<uint32_t>(message.stream));
  to.set_offset(message.offset);
  out.reserve(out.size() + kPieceHeadMost + message.bytes.size());
  AppendPb(out, to);
  if (message.bytes.empty()) return;
  AppendFieldHead(out, pb::OutputPiece::kBytesFieldNumber, message.bytes.size());
  out += message.bytes;
}

Result<ToNode> DecodeToNode(std::string_view bytes) {
  if (auto lease = OnlyField(bytes, pb::ToNode::kLeaseFieldNumber)) {
    FieldReader in("lease");
    ToNode message = DecodeLease(in, *lease);
    if (!in.ok()) return in.Failure();
    return message;
  }
  return DecodePb<ToNode, pb::ToNode>("to_node", bytes, [](FieldReader& in, auto& from) -> ToNode {
    switch (from.kind_case()) {
      case pb::ToNode::kOpenJob:
        return Decode(in, from.open_job());
      case pb::ToNode::kLease:
        return DecodeLease(in, from.lease().SerializeAsString());
      case pb::ToNode::kRecall:
        return Decode(in, from.recall());
      case pb::ToNode::kStop:
        return Decode(in, from.stop());
      case pb::ToNode::kDrop:
        return Decode(in, from.drop());
      case pb::ToNode::kReportsTaken:
        return Decode(in, from.reports_taken());
      case pb::ToNode::kCloseJob:
        return Decode(in, from.close_job());
      case pb::ToNode::kPutPiece:
        return Decode(in, from.put_piece());
      case pb::ToNode::kAsk:
        return DecodeFields<Ask>(in, "ask", from.ask());
      case pb::ToNode::kAnswerTaken:
        return in.Fields<AnswerTaken>("answer_taken", from.answer_taken());
      case pb::ToNode::kGo:
        return Decode(in, from.go());
      case pb::ToNode::KIND_NOT_SET:
        break;
    }
    in.Defect("kind", "is missing or unknown");
    return {};
  });
}

std::string OfferTooLarge(uint64_t bytes) {
  return fmt::format(
      "the labels, resources and names of the node take {}, but the limit is {}: start it with "
      "fewer of them",
      FormatSize(bytes), FormatSize(kWireLimits.offer_bytes));
}

Result<ToHub> DecodeToHub(std::string_view bytes) {
  // An offer that is too large is refused before it is decoded, which would take long.
  std::string_view hello = OnlyField(bytes, pb::ToHub::kHelloFieldNumber).value_or("");
  for (spate::internal::RawField field;
       !hello.empty() && spate::internal::DecodeField(hello, field);) {
    const uint64_t size = field.bytes.size();
    if (field.number != pb::Hello::kOfferFieldNumber || size <= kWireLimits.offer_bytes) continue;
    return Fail(ErrorKind::kCorrupt, OfferTooLarge(size));
  }
  return DecodePb<ToHub, pb::ToHub>("to_hub", bytes, [](FieldReader& in, auto& from) -> ToHub {
    switch (from.kind_case()) {
      case pb::ToHub::kHello:
        return Decode(in, from.hello());
      case pb::ToHub::kEnds:
        return DecodeEnds(in, *from.mutable_ends());
      case pb::ToHub::kReturned:
        return Decode(in, from.returned());
      case pb::ToHub::kRunning:
        return Decode(in, from.running());
      case pb::ToHub::kLive:
        return Decode(in, from.live());
      case pb::ToHub::kSlow:
        return Decode(in, from.slow());
      case pb::ToHub::kPaused:
        return Decode(in, from.paused());
      case pb::ToHub::kLeaving:
        return Leaving();
      case pb::ToHub::kWantPiece:
        return Decode(in, from.want_piece());
      case pb::ToHub::kState:
        return Decode(in, from.state());
      case pb::ToHub::kAnswerPiece:
        return DecodeFields<AnswerPiece>(in, "answer_piece", from.answer_piece());
      case pb::ToHub::kRoomTaken:
        return Decode(in, from.room_taken());
      case pb::ToHub::KIND_NOT_SET:
        break;
    }
    in.Defect("kind", "is missing or unknown");
    return {};
  });
}

Result<OutputPiece> DecodeOutputPiece(std::string_view bytes) {
  auto cut = CutLongField(bytes, pb::OutputPiece::kBytesFieldNumber);
  if (!cut) return Fail(ErrorKind::kCorrupt, "a damaged message: output_piece cannot be parsed");
  return DecodePb<OutputPiece, pb::OutputPiece>(
      "output_piece", cut->rest, [&](FieldReader& in, const auto& from) {
        OutputPiece piece;
        piece.ref = TakeRef(in, from.ref());
        piece.stream = TakeStream(in, from.stream(), kStreams);
        piece.offset = in.Number<uint64_t>("offset", from.offset(), 0, kWireLimits.size);
        piece.bytes = cut->bytes;
        if (piece.bytes.empty()) in.Defect("bytes", "is missing");
        if (piece.bytes.size() > kWireLimits.piece_bytes) in.Defect("bytes", "is too long");
        return piece;
      });
}

}  // namespace spate::wire
