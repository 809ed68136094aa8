#include "node/adopted_shepherds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "os/clock.h"
#include "os/file.h"
#include "os/socket.h"
#include "shepherd/launch.h"

namespace spate::node {
namespace {

constexpr size_t kGreetingRead = 64 * 1024;
constexpr size_t kMostEnds = size_t{1} << 30;        // bytes of one file
constexpr int64_t kAdoptedPatience = 4'000'000'000;  // nanoseconds
// More than a shepherd needs to give up processes that do not die.
constexpr Duration kKillPatience = Duration::Seconds(30);

}  // namespace

AdoptedShepherds::~AdoptedShepherds() {
  *exists_ = false;
  for (Shepherd& one : shepherds_) parts_.loop.Unwatch(one.socket.get());
}

Result<Adopted> AdoptedShepherds::Begin(ExecutorEvents& events, Duration patience) {
  events_ = &events;
  auto names = TRY(shepherd::ShepherdsIn(parts_.node_folder));
  for (const shepherd::ShepherdName& name : names) {
    auto socket = shepherd::ConnectTo(parts_.node_folder, name);
    if (socket) shepherds_.push_back({.name = name, .socket = std::move(*socket)});
    // One that left while we looked has written its file before.
  }
  Adopted adopted;
  int64_t until = os::MonotonicNanos() + patience.ns;
  std::erase_if(shepherds_, [&](Shepherd& one) { return !Meet(one, until, adopted); });
  for (const shepherd::ShepherdName& name : names) {
    auto met = [&](const Shepherd& one) { return one.name == name; };
    if (std::any_of(shepherds_.begin(), shepherds_.end(), met)) continue;
    shepherd::EndShepherd(name.pid, name.start);
    shepherd::RemoveSocket(parts_.node_folder, name);
    ReadEnds(name, adopted);
  }
  for (Shepherd& one : shepherds_) {
    parts_.loop.WatchRead(one.socket.get(), [this, &one] { OnReadable(one); });
  }
  // Bytes that came right behind those for Meet.
  parts_.loop.Post([this, exists = exists_] {
    if (!*exists) return;
    for (auto next = shepherds_.begin(); next != shepherds_.end();) {
      OnReadable(*next++);
      if (!*exists) return;
    }
  });
  return adopted;
}

// Hears all that it has to tell before anything new. False when it is gone, does not answer in time
// or speaks of things that we do not understand.
bool AdoptedShepherds::Meet(Shepherd& one, int64_t until, Adopted& adopted) {
  auto ended = [&](std::string_view why) {
    adopted.problems.push_back(
        fmt::format("the shepherd with pid {} and its task are ended: {}", one.name.pid, why));
    return false;
  };
  std::optional<shepherd::Adopted> told;
  std::vector<shepherd::Ended> ends;
  while (!told || ends.size() < told->ends) {
    auto frame = one.reports.Next();
    if (!frame) return false;
    if (frame->data() == nullptr) {
      int64_t left = until - os::MonotonicNanos();
      if (!shepherd::AwaitReadable(one.socket.get(), left)) return ended("it does not answer");
      if (!Receive(one)) return false;
      continue;
    }
    auto report = shepherd::DecodeReport(*frame);
    if (!report) return ended(report.error().message);
    if (auto* first = std::get_if<shepherd::Adopted>(&*report)) told = std::move(*first);
    if (auto* end = std::get_if<shepherd::Ended>(&*report)) ends.push_back(std::move(*end));
  }
  one.answers = told->answers;
  if (told->running) {
    shepherd::Start& start = told->running->start;
    one.running = start.ref;
    one.slot = start.slot;
    one.is_part = start.is_part;
    adopted.running.push_back(
        {start.ref, start.slot, parts_.loop.clock().FromMonotonic(told->running->since),
         std::move(start.needs), std::move(start.given),
         std::make_shared<const JobSettings>(std::move(told->running->settings)),
         told->running->frozen, told->running->is_frozen, start.is_part, told->running->excess,
         start.time_limit});
  }
  for (shepherd::Ended& end : ends) {
    one.untaken.insert(end.end.ref);
    adopted.ended.push_back(ToEnd(std::move(end)));
  }
  return true;
}

void AdoptedShepherds::ReadEnds(const shepherd::ShepherdName& name, Adopted& adopted) {
  File file{shepherd::PathOfEnds(parts_.node_folder, name), {}};
  auto text = os::ReadFile(file.path, kMostEnds);
  if (!text) return;
  shepherd::FrameBuffer frames;
  text->copy(frames.Room(text->size()), text->size());
  frames.Filled(text->size());
  for (auto frame = frames.Next(); frame && frame->data() != nullptr; frame = frames.Next()) {
    auto report = shepherd::DecodeReport(*frame);
    auto* ended = report ? std::get_if<shepherd::Ended>(&*report) : nullptr;
    if (ended == nullptr) break;
    file.untaken.insert(ended->end.ref);
    adopted.ended.push_back(ToEnd(std::move(*ended)));
  }
  if (file.untaken.empty()) {
    (void)os::RemoveFile(file.path);
  } else {
    files_.push_back(std::move(file));
  }
}

AdoptedEnd AdoptedShepherds::ToEnd(shepherd::Ended ended) {
  ended.end.start = parts_.loop.clock().FromMonotonic(ended.end.start.ns);
  // The end may be known to the hub, and its output gone with that. Only our spool is ours to send.
  for (OutputStream* stream : ended.output.streams()) {
    if (stream->spool.empty()) continue;
    bool own = os::DirName(stream->spool) == os::JoinPath(parts_.node_folder, "spool");
    if (own && os::Exists(stream->spool)) continue;
    // A task whose files cannot be brought home has not succeeded, and it is not to blame.
    if (stream == &ended.output.files && ended.end.cause == Cause::kSuccess) {
      ended.end.cause = Cause::kNode;
      if (!ended.end.note.empty()) ended.end.note += "; ";
      ended.end.note += fmt::format("its files are lost: '{}' is missing", stream->spool);
    }
    *stream = {};
  }
  return {std::move(ended.end), parts_.own(std::move(ended.output))};
}

bool AdoptedShepherds::End(const AttemptRef& ref, EndHow how, Cause cause) {
  for (Shepherd& one : shepherds_) {
    if (one.running != ref) continue;
    shepherd::Append(one.out, shepherd::EndOrder{ref, how == EndHow::kKill, cause});
    Flush(one);
    if (how == EndHow::kKill) EndLater(ref, cause);
    return true;
  }
  return false;
}

void AdoptedShepherds::EndLater(const AttemptRef& ref, Cause cause) {
  parts_.loop.At(parts_.loop.Now() + kKillPatience, [this, exists = exists_, ref, cause] {
    if (!*exists) return;
    auto one = std::ranges::find(shepherds_, std::optional(ref), &Shepherd::running);
    if (one == shepherds_.end()) return;
    one->hung = cause;
    OnGone(*one);
  });
}

bool AdoptedShepherds::Freeze(const AttemptRef& ref, bool frozen, Instant stop) {
  for (Shepherd& one : shepherds_) {
    if (one.running != ref) continue;
    shepherd::Append(one.out, shepherd::Freeze{ref, frozen, stop});
    Flush(one);
    return true;
  }
  return false;
}

AdoptedShepherds::Asked AdoptedShepherds::Query(const wire::Ask& ask) {
  auto one = std::ranges::find(shepherds_, std::optional(ask.ref), &Shepherd::running);
  if (one == shepherds_.end()) return Asked::kNotHere;
  if (!one->answers) return Asked::kOlder;
  shepherd::Append(one->out, shepherd::Ask{ask});
  Flush(*one);
  return Asked::kAsked;
}

bool AdoptedShepherds::Taken(const AttemptRef& ref) {
  for (Shepherd& one : shepherds_) {
    if (one.untaken.erase(ref) == 0) continue;
    shepherd::Append(one.out, shepherd::Taken{ref});
    Flush(one);
    return true;
  }
  for (auto file = files_.begin(); file != files_.end(); ++file) {
    if (file->untaken.erase(ref) == 0) continue;
    if (file->untaken.empty()) {
      (void)os::RemoveFile(file->path);
      files_.erase(file);
    }
    return true;
  }
  return false;
}

void AdoptedShepherds::Pause(bool paused) {
  for (Shepherd& one : shepherds_) {
    shepherd::Append(one.out, shepherd::Pause{paused});
    Flush(one);
  }
}

void AdoptedShepherds::EndAll() {
  for (Shepherd& one : shepherds_) {
    parts_.loop.Unwatch(one.socket.get());
    shepherd::Append(one.out, shepherd::LeaveOrder{});
    (void)os::SendSome(one.socket.get(), one.out);
  }
  int64_t until = os::MonotonicNanos() + kAdoptedPatience;
  for (Shepherd& one : shepherds_) {
    while (shepherd::AwaitReadable(one.socket.get(), until - os::MonotonicNanos()) &&
           Receive(one)) {
      one.reports = shepherd::FrameBuffer();
    }
    shepherd::EndShepherd(one.name.pid, one.name.start);
    shepherd::RemoveSocket(parts_.node_folder, one.name);
  }
  shepherds_.clear();
}

std::vector<pid_t> AdoptedShepherds::Pids() const {
  std::vector<pid_t> pids;
  for (const Shepherd& one : shepherds_) pids.push_back(one.name.pid);
  return pids;
}

pid_t AdoptedShepherds::PidOf(const AttemptRef& ref) const {
  auto one = std::ranges::find(shepherds_, ref, &Shepherd::running);
  return one == shepherds_.end() ? 0 : one->name.pid;
}

std::vector<AttemptRoot> AdoptedShepherds::Roots() const {
  std::vector<AttemptRoot> roots;
  for (const Shepherd& one : shepherds_) {
    if (one.running) roots.push_back({*one.running, one.name.pid, false, one.is_part});
  }
  return roots;
}

// Takes what is there now; false when the shepherd is gone and all was taken.
bool AdoptedShepherds::Receive(Shepherd& one) {
  while (true) {
    char* room = one.reports.Room(kGreetingRead);
    os::IoStep step = os::Receive(one.socket.get(), room, one.reports.room());
    if (step.kind == os::IoStep::Kind::kWouldBlock) return true;
    if (step.kind != os::IoStep::Kind::kDone) return false;
    one.reports.Filled(step.bytes);
    if (one.reports.pending() > kGreetingRead) return true;
  }
}

void AdoptedShepherds::OnReadable(Shepherd& one) {
  std::shared_ptr<bool> exists = exists_;
  bool there = Receive(one);
  while (true) {
    auto frame = one.reports.Next();
    if (frame && frame->data() == nullptr) break;
    auto report = frame ? shepherd::DecodeReport(*frame) : std::unexpected(frame.error());
    if (!report) {
      there = false;
      break;
    }
    OnReport(one, std::move(*report));
    if (!*exists) return;
  }
  if (!there) OnGone(one);
}

void AdoptedShepherds::OnReport(Shepherd& one, shepherd::Report report) {
  if (auto* ended = std::get_if<shepherd::Ended>(&report)) {
    one.running.reset();
    one.untaken.insert(ended->end.ref);
    AdoptedEnd end = ToEnd(std::move(*ended));
    parts_.remove_folder(end.end.ref);
    events_->OnEnded(std::move(end.end), std::move(end.output));
  } else if (auto* live = std::get_if<shepherd::LiveOutput>(&report)) {
    events_->OnOutput(live->ref, live->stream, live->bytes);
  } else if (auto* sample = std::get_if<shepherd::MemorySample>(&report)) {
    events_->OnMemory(sample->ref, sample->bytes);
  } else if (auto* left = std::get_if<shepherd::LeftRunning>(&report)) {
    events_->OnLeftRunning(left->ref, left->processes);
  } else if (auto* froze = std::get_if<shepherd::Froze>(&report)) {
    events_->OnFrozen(froze->ref, froze->frozen, froze->stop);
  } else if (const auto* exceeded = std::get_if<shepherd::Exceeded>(&report)) {
    events_->OnExceeded(exceeded->ref, exceeded->excess);
  } else if (auto* answer = std::get_if<shepherd::Answer>(&report)) {
    parts_.answered(std::move(*answer));
  }
}

// It has left as it should, or was killed.
void AdoptedShepherds::OnGone(Shepherd& one) {
  parts_.loop.Unwatch(one.socket.get());
  shepherd::EndShepherd(one.name.pid, one.name.start);
  shepherd::RemoveSocket(parts_.node_folder, one.name);
  std::optional<AttemptRef> running = one.running;
  AttemptEnd end;
  end.slot = one.slot;
  end.cause = one.hung.value_or(Cause::kNode);
  end.note = one.hung ? shepherd::kHungNote : "its shepherd was killed";
  shepherds_.remove_if([&](const Shepherd& other) { return &other == &one; });
  if (!running) return;
  parts_.end_strays();
  parts_.remove_folder(*running);
  parts_.lost(*running);
  end.ref = *running;
  end.start = parts_.loop.Now();
  events_->OnEnded(std::move(end), parts_.own({}));
}

void AdoptedShepherds::Flush(Shepherd& one) {
  if (one.watches_write) return;
  os::IoStep step = os::SendSome(one.socket.get(), one.out);
  if (step.kind == os::IoStep::Kind::kError) return;  // OnReadable sees its death
  one.out.erase(0, step.bytes);
  if (one.out.empty()) return;
  one.watches_write = true;
  parts_.loop.WatchWrite(one.socket.get(), [this, &one] {
    parts_.loop.UnwatchWrite(one.socket.get());
    one.watches_write = false;
    Flush(one);
  });
}

}  // namespace spate::node
