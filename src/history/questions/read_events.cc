// A hub's journal as a stream of events.
#include <fmt/format.h>

#include <variant>

#include "core/engine/record_job.h"
#include "history/question.h"
#include "history/task_summary.h"

namespace spate::history {
namespace {

// One answer is a message: so many events, and bytes of their texts.
constexpr size_t kEvents = 256;
constexpr size_t kTexts = 1 << 20;

// Describes a record to people. `what` stays empty for records that are not told.
struct Told {
  wire::EventFacts& event;
  void operator()(const engine::JobAccepted& record) const {
    event.what = "accepted";
    event.tasks = record.plan.task_count;
  }
  void operator()(const engine::JobGrown& record) const {
    event.what = "grown";
    event.tasks = record.count;
  }
  void operator()(const engine::JobSealed&) const { event.what = "closed"; }
  void operator()(const engine::JobHeld& record) const {
    event.what = "held";
    event.reason = WordOf(record.reason);
  }
  void operator()(const engine::JobReleased&) const { event.what = "released"; }
  void operator()(const engine::JobSteered& record) const {
    event.what = WordOf(record.what);
    for (const TaskRange& range : record.tasks) event.tasks += range.count;
    event.by = record.by;
    event.at = record.at;
    event.signal = record.signal;
    if (!record.excess || record.tasks.empty()) return;
    event.task = record.tasks.front().first + 1;
    event.excess = record.excess;
  }
  void operator()(const engine::JobParted& record) const {
    event.what = "parted";
    event.reason = fmt::format("job {} and it slow each other", record.from.job.value);
    event.at = record.from.at;
  }
  void operator()(const engine::TasksResized& record) const {
    event.what = WordOf(record.stage);
    for (const TaskRange& range : record.tasks) event.tasks += range.count;
    event.by = record.by;
    event.at = record.at;
    event.to = record.to;
    event.reason = record.reason;
    if (record.stage == ResizeStage::kQueued) return;
    event.from = record.from;
    event.task = record.tasks.front().first + 1;
  }
  void operator()(const engine::TasksReopened& record) const {
    event.what = "reopened";
    for (const TaskRange& range : record.tasks) event.tasks += range.count;
  }
  void operator()(const engine::JobCancelled& record) const {
    event.what = "cancelled";
    event.reason = record.reason;
  }
  void operator()(const engine::JobFinished& record) const {
    event.what = "finished";
    event.counts = record.counts;
  }
  void operator()(const engine::ClockStepped& record) const {
    event.what = "clock";
    event.clock = {record.from, record.to};
  }
  void operator()(const auto&) const {}
};

class EventLister {
 public:
  explicit EventLister(const Asking& call) : call_(call) {}
  Status Tell(const wire::ReadEvents& asked);

 private:
  struct Job {
    bool seen = false;
    std::string user, name;
  };
  const Job& JobOf(JobId id);
  void Add(const store::JournalEntry& entry);
  Status Flush(bool more);
  const std::string& NodeName(NodeId node);

  const Asking& call_;
  std::map<JobId, Job> jobs_;
  std::map<NodeId, std::string> nodes_;
  wire::ReadEvents::Answer answer_;
  size_t texts_ = 0;
};

const EventLister::Job& EventLister::JobOf(JobId id) {
  auto [at, is_new] = jobs_.try_emplace(id);
  if (!is_new) return at->second;
  // One that is being forgotten, or damaged, tells nothing.
  auto job = call_.source.history->Summarize(id.value);
  if (job && call_.source.MaySee(job->row)) at->second = {true, job->row.user, job->row.name};
  return at->second;
}

const std::string& EventLister::NodeName(NodeId node) {
  auto [at, is_new] = nodes_.try_emplace(node);
  if (is_new) at->second = call_.source.history->index().NodeName(node).value_or("");
  return at->second;
}

void EventLister::Add(const store::JournalEntry& entry) {
  wire::EventFacts event;
  event.position = answer_.position = entry.seq;
  if (const auto* attempt = std::get_if<store::AttemptEntry>(&entry.what)) {
    event.what = "end";
    event.job = attempt->record.end.ref.job;
    event.attempt = AttemptFactsOf(*attempt);
    event.attempt->node = NodeName(attempt->record.node);
  } else {
    const auto& record = std::get<engine::Record>(entry.what);
    std::visit(Told{event}, record);
    if (event.what.empty()) return;
    event.job = engine::JobOf(record);
  }
  if (!event.clock) {
    const Job& job = JobOf(event.job);
    if (!job.seen) return;
    event.user = job.user;
    event.name = job.name;
  }
  texts_ += event.name.size() + event.reason.size();
  if (event.attempt) texts_ += event.attempt->end.note.size();
  answer_.events.push_back(std::move(event));
}

Status EventLister::Flush(bool more) {
  answer_.more = more;
  TRY(call_.SendAnswer(answer_));
  answer_.events.clear();
  texts_ = 0;
  return {};
}

Status EventLister::Tell(const wire::ReadEvents& asked) {
  answer_.position = asked.after.value_or(UINT64_MAX);
  auto part = TRY(call_.source.history->stream().ReadLog(answer_.position, [&](const auto& entry) {
    Add(entry);
    return answer_.events.size() < kEvents && texts_ < kTexts;
  }));
  if (!asked.after) part.position = part.newest;
  if (part.position > part.newest) {
    return Fail(ErrorKind::kInvalid,
                "the hub's journal ends before that position: the hub was restored, or it is "
                "another one; read from the beginning",
                SeeAlso("events", "--since", 0));
  }
  answer_.position = part.position;
  return Flush(part.position < part.newest);
}

Status Answer(const Asking& call, const wire::ReadEvents& asked) {
  TRY(NeedHub(call.source));
  return EventLister(call).Tell(asked);
}

}  // namespace

extern const JournalQuestion kReadEvents = QuestionOf<wire::ReadEvents, Answer>({.who = kOwner});

}  // namespace spate::history
