// Random messages for the tests of the codec, and equality by hand. The structured bindings do not
// compile when a struct gets a new field, so that nobody forgets it in the codec.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/model/limits.h"
#include "wire/limits.h"
#include "wire/messages.h"

namespace spate::wire::testing {

// Small and large numbers alike, so that every length of varint is met.
template <typename T>
T AnyNumber(T most) {
  int bits = *rc::gen::inRange(0, 65);
  auto v = *rc::gen::arbitrary<uint64_t>();
  v = bits == 0 ? 0 : v >> (64 - bits);
  return static_cast<T>(v <= static_cast<uint64_t>(most) ? v : v % (uint64_t(most) + 1));
}
inline uint32_t AnyU32() { return AnyNumber(UINT32_MAX); }
inline bool AnyFlag() { return *rc::gen::arbitrary<bool>(); }
inline std::string AnyText() { return *rc::gen::arbitrary<std::string>(); }
inline std::string SomeText() { return "x" + AnyText(); }
template <typename Make>
auto AnyList(Make make) {
  std::vector<decltype(make())> list(*rc::gen::inRange<size_t>(0, 5));
  for (auto& item : list) item = make();
  return list;
}
inline std::vector<std::string> AnyTexts() { return AnyList(AnyText); }
// Names in the form of resources: sorted, each once, none empty.
inline std::vector<std::string> AnyNames() {
  auto names = AnyList(SomeText);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}
template <typename T>
T AnyId() {
  using Rep = decltype(T().value);
  return T(static_cast<Rep>(AnyNumber<Rep>(static_cast<Rep>(-2)) + 1));
}
inline Duration AnyTime() { return {AnyNumber(kWireLimits.longest.ns)}; }
inline uint64_t AnySize() { return AnyNumber(kWireLimits.size); }
inline TaskIndex AnyIndex() { return AnyNumber(kLimits.tasks_per_job - 1); }
inline AttemptRef AnyRef() { return {AnyId<JobId>(), AnyIndex(), AnyId<Attempt>()}; }
inline uint16_t AnySlot() { return AnyNumber(static_cast<uint16_t>(kLimits.slots)); }
inline uint8_t AnyStream() { return static_cast<uint8_t>(*rc::gen::inRange(1, 3)); }

inline Needs AnyNeeds() {
  Needs needs{.milli_cpus = AnyU32(), .memory = AnySize(), .named = {}};
  for (std::string& name : AnyNames()) {
    needs.named.push_back({std::move(name), AnyNumber(UINT32_MAX - 1) + 1});
  }
  needs.time = AnyTime();
  needs.labels = AnyNames();
  needs.on_node = AnyText();
  needs.not_on = AnyNames();
  return needs;
}
inline Offer AnyOffer() {
  Offer offer{.node_name = SomeText(),
              .slots = AnyNumber(kLimits.slots - 1) + 1,
              .milli_cpus = AnyU32(),
              .memory = AnySize(),
              .named = {}};
  for (std::string& name : AnyNames()) offer.named.push_back({std::move(name), AnyTexts()});
  offer.user = AnyText();
  offer.labels = AnyNames();
  if (*rc::gen::arbitrary<bool>())
    offer.end_of_life = Instant{AnyNumber<int64_t>(INT64_MAX - 1) + 1};
  offer.temp_dir = AnyText();
  return offer;
}
inline std::vector<TaskRange> AnyRanges() {
  auto ranges = AnyList([] {
    uint32_t count = *rc::gen::inRange<uint32_t>(1, 5);
    return TaskRange{.first = AnyNumber(kLimits.tasks_per_job - count), .count = count};
  });
  if (ranges.empty()) ranges.push_back({.first = 7, .count = 1});
  return ranges;
}

inline JobSettings AnySettings() {
  JobSettings s;
  s.name = AnyText();
  s.cwd = "/" + AnyText();
  s.row_kind = static_cast<RowKind>(AnyNumber(kCountOf<RowKind> - 1));
  s.command = AnyTexts();
  s.value_names = AnyTexts();
  s.record_values = AnyU32();
  s.has_source = AnyFlag();
  s.repeat_context = AnyFlag();
  s.replace = AnyText();
  s.shell = AnyText();
  s.bash = AnyFlag();
  s.environment = AnyTexts();
  s.stdin_pattern = AnyText();
  s.stdout_pattern = AnyText();
  s.stderr_pattern = AnyText();
  s.nice = *rc::gen::inRange(-20, 20);
  s.measure_io = AnyFlag();
  s.live_output = AnyFlag();
  s.time_limit = AnyTime();
  s.time_limit_percent = AnyU32();
  s.warn_time = AnyTime();
  s.kill_grace = AnyTime();
  s.start_delay = AnyTime();
  s.min_free_memory = AnySize();
  s.max_load = static_cast<double>(AnyU32()) / 8;
  s.check_patience = AnyTime();
  s.user = AnyText();
  s.umask = *rc::gen::inRange(-1, 0777 + 1);
  s.put_patterns = AnyTexts();
  s.forward_patterns = AnyTexts();
  s.forward_file_patterns = AnyTexts();
  s.get_patterns = AnyTexts();
  s.leftovers = static_cast<Leftovers>(AnyNumber(kCountOf<Leftovers> - 1));
  s.leftovers_wait = AnyTime();
  s.warn_signal = AnyU32();
  s.warn_before = AnyTime();
  s.append_output = AnyFlag();
  s.comment = AnyText();
  s.max_processes = AnyU32();
  for (OnExcess* one : {&s.on_excess_memory, &s.on_excess_processes, &s.on_excess_cpu}) {
    *one = static_cast<OnExcess>(AnyNumber(kCountOf<OnExcess> - 1));
  }
  for (auto* limits : {&s.limits, &s.soft_limits}) {
    if (!AnyFlag()) continue;
    const auto kind = static_cast<LimitKind>(AnyNumber(kCountOf<LimitKind> - 1));
    limits->push_back({kind, AnyNumber(UINT64_MAX)});
  }
  for (const char* name : {"a", "b/c d"}) {
    if (!AnyFlag()) continue;
    s.puts.push_back({.name = name,
                      .mode = *rc::gen::inRange(0u, 01000u),
                      .size = *rc::gen::inRange(uint64_t{0}, kLimits.file_bytes),
                      .first_piece = *rc::gen::inRange(0u, 64u)});
  }
  return s;
}

inline AttemptEnd AnyEnd() {
  AttemptEnd end;
  end.ref = AnyRef();
  end.cause = static_cast<Cause>(*rc::gen::inRange(0, kCauseCount));
  end.memory_source = static_cast<MemorySource>(*rc::gen::inRange(0, 4));
  end.slot = AnySlot();
  end.status = *rc::gen::arbitrary<int32_t>();
  end.start = {AnyNumber(kWireLimits.latest.ns)};
  end.wall = AnyTime();
  end.user = AnyTime();
  end.system = AnyTime();
  end.peak_memory = AnySize();
  if (AnyFlag()) end.read_bytes = static_cast<int64_t>(AnySize());
  if (AnyFlag()) end.written_bytes = static_cast<int64_t>(AnySize());
  end.left_behind = AnyU32();
  end.stdout_total = AnySize();
  end.stderr_total = AnySize();
  end.note = AnyText();
  end.not_kept = static_cast<NotKept>(*rc::gen::inRange(0, 7));
  end.processes = AnyList([] {
    return ProcessEnd{.step = AnyNumber<uint16_t>(UINT16_MAX),
                      .command = AnyNumber<uint16_t>(UINT16_MAX),
                      .rank = AnyU32(),
                      .status = *rc::gen::arbitrary<int32_t>(),
                      .stdout_bytes = AnyFlag() ? AnySize() : 0,
                      .stderr_bytes = AnyFlag() ? AnySize() : 0};
  });
  return end;
}
// Inline, or apart with a length only, as it arrives.
inline OutputStream AnyOutputStream() {
  OutputStream stream;
  if (AnyFlag()) {
    stream.total = AnySize();
  } else {
    stream.bytes = AnyText();
    stream.total = stream.bytes.size();
  }
  return stream;
}
inline TaskOutputPtr AnyOutput() {
  TaskOutput output{AnyOutputStream(), AnyOutputStream(), AnyOutputStream()};
  if (AnyFlag() || output.bytes() == 0) return nullptr;
  return std::make_shared<const TaskOutput>(std::move(output));
}

inline HeldTasks AnyHeld() { return {AnyId<JobId>(), AnyId<Attempt>(), AnyRanges()}; }

inline TaskSize AnyTaskSize() {
  TaskSize size;
  if (AnyFlag()) size.milli_cpus = AnyU32();
  if (AnyFlag()) size.memory = AnySize();
  if (AnyFlag()) size.time_limit = AnyTime();
  return size;
}

inline ToNode AnyToNode(size_t kind) {
  switch (kind) {
    case 0:
      return OpenJob{AnyId<JobId>(), std::make_shared<const JobSettings>(AnySettings())};
    case 1: {
      Lease lease{AnyId<Epoch>(), AnyId<JobId>(), AnyId<Attempt>(), AnyNeeds(), AnyRanges(), {}};
      if (AnyFlag()) {
        lease.tasks = {{.first = 3, .count = 1}};
        GangPart part{.index = AnyNumber(1u), .hosts = {{"a", 2, ""}, {"b", 1, AnyText()}}};
        part.start = static_cast<GangShape::Start>(AnyNumber(2));
        part.secret = AnyText();
        lease.part = std::make_shared<const GangPart>(std::move(part));
      }
      if (AnyFlag()) lease.time_limit = AnyTime();
      for (TaskRange range : lease.tasks) {
        for (uint32_t k = 0; k < range.count; ++k) lease.rows.push_back(AnyText());
      }
      return lease;
    }
    case 2:
      return Recall{AnyId<Epoch>(), AnyId<JobId>()};
    case 3:
      return Stop{AnyId<Epoch>(), AnyId<JobId>(),
                  AnyFlag() ? AnyRanges() : std::vector<TaskRange>(), AnyFlag()};
    case 4:
      return Drop{AnyId<Epoch>(), AnyId<JobId>(), AnyId<Attempt>(), AnyRanges()};
    case 5:
      return CloseJob{AnyId<JobId>()};
    case 6:
      return PutPiece{AnyId<JobId>(), AnyU32(), AnyText()};
    case 8:
      return Go{AnyId<Epoch>(), AnyRef()};
    case 9:
      return Ask{
          AnyNumber(UINT64_MAX - 1), AnyRef(), AnyU32(), AnyU32(), AnyText(), AnyFlag(), AnyText()};
    case 7:
      return AnswerTaken{AnyNumber(UINT64_MAX - 1), AnyU32()};
    case 11:
      return Resize{AnyId<Epoch>(), AnyRef(), AnyTaskSize(), {AnyNumber(int64_t{1} << 60)}};
    case 10:
      return Freeze{
          AnyId<Epoch>(), AnyId<JobId>(), AnyRanges(), AnyFlag(), {AnyNumber(int64_t{1} << 60)}};
    default:
      return ReportsTaken{AnyNumber(UINT64_MAX - 1)};
  }
}

inline ToHub AnyToHub(size_t kind) {
  switch (kind) {
    case 0:
      return Hello{
          AnyId<NodeId>(), AnyOffer(), AnyList(AnyHeld), AnyText(), {AnyNumber(int64_t{1} << 60)},
          AnyList(AnyHeld)};
    case 1: {
      Ends ends;
      ends.number = AnyNumber(UINT64_MAX - 1);
      ends.ends = AnyList(AnyEnd);
      if (ends.ends.empty()) ends.ends.push_back(AnyEnd());
      for (size_t i = 0; i < ends.ends.size(); ++i) ends.outputs.push_back(AnyOutput());
      return ends;
    }
    case 2:
      return Returned{AnyNumber(UINT64_MAX - 1), AnyId<JobId>(), AnyId<Attempt>(), AnyRanges()};
    case 3:
      return Running{AnyRef(), AnySlot()};
    case 4:
      return Live{AnyRef(), AnyStream(), AnyText()};
    case 5:
      return Slow{AnyRef()};
    case 6:
      return Leaving{};
    case 7:
      return WantPiece{AnyId<JobId>(), AnyU32()};
    case 8: {
      NodeState state;
      state.machine = {AnyNumber(UINT64_MAX), 0.5, 1.25, 0, 99};
      state.runs = AnyList(
          [] { return NodeState::Run{AnyRef(), {AnyNumber(int64_t{1} << 60)}, AnyText()}; });
      state.waits =
          AnyList([] { return NodeState::Wait{AnyRef(), AnyNumber(UINT32_MAX), AnyText()}; });
      state.no_room = AnyText();
      state.clock = {AnyNumber(int64_t{1} << 60)};
      return state;
    }
    case 12:
      return Slowed{{AnyRef(), AnyId<JobId>(), static_cast<TrafficKind>(AnyNumber(1)),
                     AnyNumber(UINT64_MAX), AnyNumber(UINT64_MAX)}};
    case 13:
      return Exceeded{AnyNumber(UINT64_MAX - 1), AnyRef(),
                      Excess{static_cast<Resource>(AnyNumber(kCountOf<Resource> - 1)),
                             static_cast<OnExcess>(AnyNumber(kCountOf<OnExcess> - 1)),
                             AnyNumber(UINT64_MAX - 1), AnyNumber(UINT64_MAX - 1)}};
    case 14:
      return Resized{AnyRef(), {AnyNumber(int64_t{1} << 60)}, AnyText()};
    case 11:
      return Frozen{AnyRef(), AnyFlag(), {AnyNumber(int64_t{1} << 60)}};
    case 10:
      return RoomTaken{AnyRef()};
    case 9:
      return AnswerPiece{AnyNumber(UINT64_MAX - 1), static_cast<AnswerKind>(AnyNumber(5)), AnyU32(),
                         AnyText()};
    default:
      return Paused{AnyText()};
  }
}

inline bool Same(const JobSettings& x, const JobSettings& y) {
  const auto& [name, cwd, row_kind, command, value_names, record_values, has_source, repeat_context,
               replace, shell, bash, environment, stdin_pattern, stdout_pattern, stderr_pattern,
               put_patterns, get_patterns, forward_patterns, forward_file_patterns, puts, user,
               umask, nice, measure_io, live_output, time_limit, time_limit_percent, warn_time,
               kill_grace, start_delay, min_free_memory, max_load, check_patience, leftovers,
               leftovers_wait, warn_signal, warn_before, append_output, comment, max_processes,
               on_excess_memory, on_excess_processes, on_excess_cpu, limits, soft_limits] = x;
  return name == y.name && cwd == y.cwd && row_kind == y.row_kind && command == y.command &&
         value_names == y.value_names && record_values == y.record_values &&
         has_source == y.has_source && repeat_context == y.repeat_context && replace == y.replace &&
         shell == y.shell && bash == y.bash && environment == y.environment &&
         stdin_pattern == y.stdin_pattern && stdout_pattern == y.stdout_pattern &&
         stderr_pattern == y.stderr_pattern && put_patterns == y.put_patterns &&
         get_patterns == y.get_patterns && forward_patterns == y.forward_patterns &&
         forward_file_patterns == y.forward_file_patterns && puts == y.puts && user == y.user &&
         umask == y.umask && nice == y.nice && measure_io == y.measure_io &&
         live_output == y.live_output && time_limit == y.time_limit &&
         time_limit_percent == y.time_limit_percent && warn_time == y.warn_time &&
         kill_grace == y.kill_grace && start_delay == y.start_delay &&
         min_free_memory == y.min_free_memory && max_load == y.max_load &&
         check_patience == y.check_patience && leftovers == y.leftovers &&
         leftovers_wait == y.leftovers_wait && warn_signal == y.warn_signal &&
         warn_before == y.warn_before && append_output == y.append_output && comment == y.comment &&
         max_processes == y.max_processes && on_excess_memory == y.on_excess_memory &&
         on_excess_processes == y.on_excess_processes && on_excess_cpu == y.on_excess_cpu &&
         limits == y.limits && soft_limits == y.soft_limits;
}
inline bool Same(const Offer& x, const Offer& y) {
  // Features are the greeting's, and do not come with an offer.
  const auto& [node_name, slots, milli_cpus, memory, named, user, labels, end_of_life, temp_dir,
               features] = x;
  return node_name == y.node_name && slots == y.slots && milli_cpus == y.milli_cpus &&
         memory == y.memory && named == y.named && user == y.user && labels == y.labels &&
         end_of_life == y.end_of_life && temp_dir == y.temp_dir;
}
inline bool Same(const ProcessEnd& x, const ProcessEnd& y) {
  const auto& [step, command, rank, status, stdout_bytes, stderr_bytes] = x;
  return step == y.step && command == y.command && rank == y.rank && status == y.status &&
         stdout_bytes == y.stdout_bytes && stderr_bytes == y.stderr_bytes;
}
inline bool Same(const AttemptEnd& x, const AttemptEnd& y) {
  const auto& [ref, cause, memory_source, slot, status, start, wall, user, system, peak_memory,
               read_bytes, written_bytes, left_behind, stdout_total, stderr_total, note, processes,
               not_kept] = x;
  return ref == y.ref && cause == y.cause && memory_source == y.memory_source && slot == y.slot &&
         status == y.status && start == y.start && wall == y.wall && user == y.user &&
         system == y.system && peak_memory == y.peak_memory && read_bytes == y.read_bytes &&
         written_bytes == y.written_bytes && left_behind == y.left_behind &&
         stdout_total == y.stdout_total && stderr_total == y.stderr_total && note == y.note &&
         not_kept == y.not_kept &&
         std::ranges::equal(processes, y.processes,
                            [](const auto& a, const auto& b) { return Same(a, b); });
}
inline bool Same(const OutputStream& x, const OutputStream& y) {
  const auto& [bytes, spool, total] = x;
  return bytes == y.bytes && spool == y.spool && total == y.total;
}
inline bool Same(const TaskOutputPtr& x, const TaskOutputPtr& y) {
  if (!x || !y) return !x && !y;
  const auto& [out, err, files] = *x;
  return Same(out, y->out) && Same(err, y->err) && Same(files, y->files);
}

inline bool Same(const OpenJob& x, const OpenJob& y) {
  const auto& [job, settings] = x;
  return job == y.job && Same(*settings, *y.settings);
}
inline bool Same(const Lease& x, const Lease& y) {
  const auto& [epoch, job, attempt, needs, tasks, rows, part, time_limit] = x;
  return epoch == y.epoch && job == y.job && attempt == y.attempt && needs == y.needs &&
         tasks == y.tasks && rows == y.rows && time_limit == y.time_limit &&
         (part == nullptr ? y.part == nullptr : y.part != nullptr && *part == *y.part);
}
inline bool Same(const Go& x, const Go& y) {
  const auto& [epoch, ref] = x;
  return epoch == y.epoch && ref == y.ref;
}
inline bool Same(const RoomTaken& x, const RoomTaken& y) {
  const auto& [ref] = x;
  return ref == y.ref;
}
inline bool Same(const Recall& x, const Recall& y) {
  const auto& [epoch, job] = x;
  return epoch == y.epoch && job == y.job;
}
inline bool Same(const Stop& x, const Stop& y) {
  const auto& [epoch, job, tasks, kill] = x;
  return epoch == y.epoch && job == y.job && tasks == y.tasks && kill == y.kill;
}
inline bool Same(const Freeze& x, const Freeze& y) {
  const auto& [epoch, job, tasks, frozen, stop] = x;
  return epoch == y.epoch && job == y.job && tasks == y.tasks && frozen == y.frozen &&
         stop == y.stop;
}
inline bool Same(const Slowed& x, const Slowed& y) { return x.what == y.what; }
inline bool Same(const Resize& x, const Resize& y) {
  const auto& [epoch, ref, to, since] = x;
  return epoch == y.epoch && ref == y.ref && to == y.to && since == y.since;
}
inline bool Same(const Resized& x, const Resized& y) {
  const auto& [ref, since, refused] = x;
  return ref == y.ref && since == y.since && refused == y.refused;
}
inline bool Same(const Frozen& x, const Frozen& y) {
  const auto& [ref, frozen, stop] = x;
  return ref == y.ref && frozen == y.frozen && stop == y.stop;
}
inline bool Same(const Drop& x, const Drop& y) {
  const auto& [epoch, job, attempt, tasks] = x;
  return epoch == y.epoch && job == y.job && attempt == y.attempt && tasks == y.tasks;
}
inline bool Same(const ReportsTaken& x, const ReportsTaken& y) {
  const auto& [number] = x;
  return number == y.number;
}
inline bool Same(const CloseJob& x, const CloseJob& y) {
  const auto& [job] = x;
  return job == y.job;
}
inline bool Same(const Leaving&, const Leaving&) { return true; }
inline bool Same(const PutPiece& x, const PutPiece& y) {
  const auto& [job, piece, bytes] = x;
  return job == y.job && piece == y.piece && bytes == y.bytes;
}
inline bool Same(const Ask& x, const Ask& y) { return x == y; }
inline bool Same(const AnswerTaken& x, const AnswerTaken& y) { return x == y; }
inline bool Same(const AnswerPiece& x, const AnswerPiece& y) { return x == y; }
inline bool Same(const WantPiece& x, const WantPiece& y) {
  const auto& [job, piece] = x;
  return job == y.job && piece == y.piece;
}
inline bool Same(const Hello& x, const Hello& y) {
  const auto& [node, offer, holds, remote, clock, frozen] = x;
  return node == y.node && Same(offer, y.offer) && holds == y.holds && remote == y.remote &&
         clock == y.clock && frozen == y.frozen;
}
inline bool Same(const Ends& x, const Ends& y) {
  const auto& [number, ends, outputs] = x;
  auto same = [](const auto& a, const auto& b) { return Same(a, b); };
  return number == y.number && std::ranges::equal(ends, y.ends, same) &&
         std::ranges::equal(outputs, y.outputs, same);
}
inline bool Same(const Returned& x, const Returned& y) {
  const auto& [number, job, attempt, tasks] = x;
  return number == y.number && job == y.job && attempt == y.attempt && tasks == y.tasks;
}
inline bool Same(const Exceeded& x, const Exceeded& y) {
  const auto& [number, ref, excess] = x;
  return number == y.number && ref == y.ref && excess == y.excess;
}
inline bool Same(const Running& x, const Running& y) {
  const auto& [ref, slot] = x;
  return ref == y.ref && slot == y.slot;
}
inline bool Same(const Live& x, const Live& y) {
  const auto& [ref, stream, bytes] = x;
  return ref == y.ref && stream == y.stream && bytes == y.bytes;
}
inline bool Same(const Slow& x, const Slow& y) {
  const auto& [ref] = x;
  return ref == y.ref;
}
inline bool Same(const NodeState& x, const NodeState& y) {
  const auto& [machine, runs, waits, no_room, clock] = x;
  return machine == y.machine && runs == y.runs && waits == y.waits && no_room == y.no_room &&
         clock == y.clock;
}
inline bool Same(const Paused& x, const Paused& y) {
  const auto& [reason] = x;
  return reason == y.reason;
}
inline bool Same(const OutputPiece& x, const OutputPiece& y) {
  const auto& [ref, stream, offset, bytes] = x;
  return ref == y.ref && stream == y.stream && offset == y.offset && bytes == y.bytes;
}
template <typename... Kinds>
bool Same(const std::variant<Kinds...>& x, const std::variant<Kinds...>& y) {
  if (x.index() != y.index()) return false;
  return std::visit([&](const auto& m) { return Same(m, std::get<std::decay_t<decltype(m)>>(y)); },
                    x);
}

}  // namespace spate::wire::testing
