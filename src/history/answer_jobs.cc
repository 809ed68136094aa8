// Lists of jobs, all about one, and what they have used.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "history/call.h"
#include "history/job_facts.h"
#include "history/log_facts.h"
#include "history/pick.h"
#include "os/batch_job.h"

namespace spate::history {
namespace {

// One answer is a message: its jobs, and the bytes of what was typed for them.
constexpr size_t kAtOnce = 256;
constexpr size_t kTextsAtOnce = 1 << 20;

size_t BytesOf(const std::optional<std::vector<std::string>>& texts) {
  size_t bytes = 0;
  if (!texts) return bytes;
  for (const std::string& text : *texts) bytes += text.size();
  return bytes;
}

bool IsOfKind(const JobFacts& facts, uint32_t kinds) {
  uint32_t kind = 1u << static_cast<uint32_t>(facts.state);
  kind |= 1u << static_cast<uint32_t>(facts.outcome());
  if (facts.failed() > 0) kind |= wire::ListJobs::kFailedKind;
  return (kind & kinds) != 0;
}

// ---- All about one -----------------------------------------------------------------------------

void AddTask(FailureFacts& kind, TaskIndex index) {
  ++kind.count;
  if (!kind.tasks.empty() && kind.tasks.back().first + kind.tasks.back().count == index) {
    ++kind.tasks.back().count;
  } else if (kind.tasks.size() < FailureFacts::kMostRanges) {
    kind.tasks.push_back({index, 1});
  }
}

// In which ways tasks failed, and on which nodes.
struct Failures {
  std::vector<FailureFacts> kinds;
  std::map<NodeId, uint64_t> by_node;
};

Result<Failures> FailuresOf(store::JobJournal& history) {
  std::map<std::pair<Cause, int32_t>, FailureFacts> kinds;
  Failures failures;
  uint32_t states =
      store::TaskFilter::Bit(TaskState::kFailed) | store::TaskFilter::Bit(TaskState::kUnknown);
  const store::TaskFilter filter{.states = states, .left_list = false};
  TRY(history.Tasks(filter, [&](const store::TaskSummary& task) {
    if (!task.last) return true;
    const AttemptEnd& end = task.last->record.end;
    FailureFacts& kind = kinds[{end.cause, end.status}];
    if (kind.count == 0) {
      kind.end = end;
      if (!IsCutOff(end)) kind.end.note.clear();
      kind.end.peak_memory = 0;
    }
    AddTask(kind, task.index);
    ++failures.by_node[task.last->record.node];
    return true;
  }));
  for (auto& [key, kind] : kinds) failures.kinds.push_back(std::move(kind));
  std::ranges::stable_sort(failures.kinds, std::greater<>(), &FailureFacts::count);
  return failures;
}

// A few failures may be their tasks' own.
Result<std::vector<BlamedFacts>> BlamedOf(const Source& source, const engine::JobState& job,
                                          const std::map<NodeId, uint64_t>& failed) {
  std::vector<BlamedFacts> blamed;
  for (const auto& [node, count] : failed) {
    if (count < kLimits.node_failures || job.SucceededOn(node) || !job.SucceededBeside(node)) {
      continue;
    }
    auto name = TRY(source.history->index().NodeName(node));
    blamed.push_back({std::move(name), count});
  }
  std::ranges::stable_sort(blamed, std::greater<>(), &BlamedFacts::failed);
  return blamed;
}

Result<std::vector<SetAsideFacts>> SetAsideOf(const Source& source, const LogFacts& log) {
  std::vector<SetAsideFacts> nodes;
  for (const auto& [node, why] : log.set_aside) {
    auto name = TRY(source.history->index().NodeName(node));
    nodes.push_back({std::move(name), why});
  }
  return nodes;
}

// A hub writes a job's row about once a second; its journal knows at once whether it is held.
void CorrectStanding(const LogFacts& log, JobStanding& standing) {
  if (log.replay->job().stopped() != nullptr) {
    if (!IsStopped(standing)) standing = JobStanding::kFreezing;
  } else if (log.held != HoldReason::kNone) {
    standing = JobStanding::kHeld;
  } else if (standing == JobStanding::kHeld) {
    standing = JobStanding::kRunning;
  }
}

// Among the tasks that are in their list.
uint64_t EdgesOf(const engine::JobState& job) {
  if (job.task_count() == job.counts().total) return job.graph().edge_count();
  uint64_t edges = 0;
  for (TaskIndex i = 0; i < job.task_count(); ++i) {
    if (job.LeftList(i)) continue;
    job.graph().ForChildren(i, [&](TaskIndex child) { edges += job.LeftList(child) ? 0 : 1; });
  }
  return edges;
}

Status AddLog(const Source& source, const LogFacts& log, JobDetails& details) {
  details.policy = log.policy;
  details.held = log.held;
  if (log.held != HoldReason::kNone && log.held_at.ns > 0) details.held_since = log.held_at;
  details.has_cancelled = !log.cancelled.empty();
  details.edges = EdgesOf(log.replay->job());
  details.withdrawn = log.replay->job().task_count() - log.replay->job().counts().total;
  details.priority = log.replay->job().priority();
  if (const StopFact* stop = log.replay->job().stopped()) details.stop = *stop;
  details.stopped_tasks = log.replay->job().stopped_tasks().size();
  const TaskIndex count = log.replay->job().task_count();
  if (const TaskClass* of_tasks = count == 0 ? nullptr : log.ClassOf(count - 1)) {
    details.newest = *of_tasks;
  }
  const store::JobWords& words = log.replay->words();
  if (words.newest_story) {
    details.story = words.stories.at(*words.newest_story);
    details.story_task = *words.newest_story + 1;
  }
  if (!source.on_hub() || details.job.state == JobStanding::kFinished) return {};
  CorrectStanding(log, details.job.state);
  auto set_aside = TRY(SetAsideOf(source, log));
  details.set_aside = std::move(set_aside);
  return {};
}

Status AddSums(const Source& source, store::JobJournal& history, const LogFacts& log,
               JobDetails& details) {
  auto statistics = TRY(history.Statistics());
  details.statistics = statistics;
  // A hub's row says what its list says, also between two writes of it.
  if (!source.on_hub()) {
    auto counts = TRY(history.Counts());
    details.job.counts = counts;
    // Runs of earlier versions count tasks that left their list as cancelled.
    if (!details.has_cancelled) {
      details.withdrawn += counts.cancelled;
      details.job.counts.total -= std::exchange(details.job.counts.cancelled, 0);
    }
  }
  auto failures = TRY(FailuresOf(history));
  details.failures = std::move(failures.kinds);
  if (!source.on_hub()) return {};
  auto blamed = TRY(BlamedOf(source, log.replay->job(), failures.by_node));
  details.blamed = std::move(blamed);
  return {};
}

Result<JobDetails> DetailsOf(const Source& source, uint32_t number) {
  auto summary = TRY(source.history->Summarize(number));
  JobDetails details;
  details.bytes = source.history->index().StoredBytes(summary);
  details.for_admin = source.viewer.is_admin;
  auto facts = TRY(FactsOf(source, summary, true));
  details.job = std::move(facts);
  if (!IsReadable(details.job.state)) return details;
  auto history = TRY(source.Open(number));
  if (summary.owner) details.owner = *summary.owner;
  auto log = TRY(ReadLog(*history));
  TRY(AddLog(source, log, details));
  TRY(AddSums(source, *history, log, details));
  auto settings = source.settings(history->summary().row);
  if (!settings) return details;
  if (source.on_hub()) details.foreign = os::ForeignVariables(settings->environment);
  details.comment = std::move(settings->comment);
  return details;
}

// ---- What was used -----------------------------------------------------------------------------

// The largest peak and 20% more, in whole MB; 0 when no peak is known.
uint64_t SuggestedMemory(const store::Use& use) {
  constexpr uint64_t kMegabyte = 1 << 20;
  return (use.peak_memory + use.peak_memory / 5 + kMegabyte - 1) / kMegabyte * kMegabyte;
}

// A small excess over whole processors comes from starting the command and from measuring it.
double SuggestedCpus(const store::Use& use) {
  constexpr uint32_t kAbove = 100;
  if (use.longest < store::kLongEnough) return 0;
  uint32_t above = use.most_milli_cpus > kAbove ? use.most_milli_cpus - kAbove : 0;
  return std::max(1u, (above + 999) / 1000);
}

// The longest and 20% more, in whole seconds.
Duration SuggestedTime(const store::Use& use) {
  constexpr Duration kMost = Duration::Seconds(10 * 365 * 86'400);  // nodes tell what they like
  Duration longest = std::min(use.longest, kMost);
  const int64_t most = (longest + longest / 5).ns;
  constexpr int64_t kSecond = Duration::Seconds(1).ns;
  return Duration::Seconds((most + kSecond - 1) / kSecond);
}

UseFacts FactsOf(std::string user, const store::Use& use) {
  UseFacts facts;
  facts.user = std::move(user);
  facts.tasks = use.tasks;
  facts.ends = use.ends;
  facts.failed = use.failed;
  if (use.tasks > 0) {
    facts.failed_share = static_cast<double>(use.failed) / static_cast<double>(use.tasks);
  }
  facts.cpu = use.cpu;
  facts.wall = use.wall;
  facts.peak_memory = use.peak_memory;
  facts.suggested_memory = SuggestedMemory(use);
  facts.suggested_cpus = SuggestedCpus(use);
  facts.suggested_time = SuggestedTime(use);
  return facts;
}

struct UserUse {
  store::Use sum;
  std::vector<UseFacts> jobs;  // those that may be seen, the newest first
};

// Sums up the jobs of a place.
class UseReader {
 public:
  UseReader(const Asking& call, const wire::SumUse& asked) : source_(call.source), asked_(asked) {}
  Status Read(const std::vector<uint32_t>& numbers);
  Status Tell(const Asking& call);

 private:
  void Add(const store::JobSummary& job);

  const Source& source_;
  const wire::SumUse& asked_;
  std::map<uint32_t, store::Use> uses_;
  std::map<std::string, UserUse> users_;
  std::vector<UseFacts> left_out_;
};

void UseReader::Add(const store::JobSummary& job) {
  auto leave_out = [&](std::string why) {
    UseFacts facts;
    facts.job = JobId(job.number);
    facts.problem = std::move(why);
    left_out_.push_back(std::move(facts));
  };
  if (job.standing == JobStanding::kNewer) return leave_out(job.problem);
  if (job.standing == JobStanding::kDamaged) {
    return leave_out(fmt::format("job {} is left out, as it is damaged", job.number));
  }
  if (!asked_.user.empty() && job.row.user != asked_.user) return;
  if (!source_.on_hub() || asked_.jobs) {
    auto read = source_.history->index().UseSince(asked_.since, &job);
    if (!read) leave_out(read.error().message);
    if (read) uses_.merge(*read);
  }
  auto at = uses_.find(job.number);
  if (at == uses_.end()) return;
  UserUse& user = users_[job.row.user];
  user.sum.Add(at->second);
  if (!source_.MaySee(job.row)) return;
  UseFacts facts = FactsOf(job.row.user, at->second);
  facts.job = JobId(job.number);
  facts.name = store::NameOf(job.row);
  user.jobs.push_back(std::move(facts));
}

Status UseReader::Read(const std::vector<uint32_t>& numbers) {
  if (source_.on_hub() && !asked_.jobs) {
    auto read = TRY(source_.history->index().UseSince(asked_.since, nullptr));
    uses_ = std::move(read);
  }
  return source_.history->Visit(numbers, [&](const store::JobSummary& job) {
    Add(job);
    return true;
  });
}

Status UseReader::Tell(const Asking& call) {
  for (const UseFacts& facts : left_out_) {
    TRY(call.Put(facts));
  }
  for (auto& [name, user] : users_) {
    std::ranges::reverse(user.jobs);
    for (const UseFacts& facts : user.jobs) {
      TRY(call.Put(facts));
    }
    TRY(call.Put(FactsOf(name, user.sum)));
  }
  return {};
}

}  // namespace

// ---- Answers -----------------------------------------------------------------------------------

Status Answer(const Asking& call, const wire::ListJobs& asked) {
  store::NewestJobs jobs;
  if (asked.jobs) {
    jobs.numbers = TRY(PickJobs(call.source, *asked.jobs, true));
    jobs.of = jobs.numbers.size();
  } else {
    const bool any_kind = asked.kinds == wire::ListJobs::kAllKinds;
    jobs = TRY(NewestJobs(call.source, any_kind ? asked.most : SIZE_MAX));
  }
  wire::JobsListed answer{{}, jobs.of};
  if (asked.most == 0) return call.Put(answer);
  uint64_t left = asked.most;
  size_t texts = 0;
  Status status;
  auto visited = call.source.history->Visit(jobs.numbers, [&](const auto& summary) {
    auto facts = FactsOf(call.source, summary, asked.whole);
    if (!facts) {
      status = std::unexpected(std::move(facts.error()));
    } else if (IsOfKind(*facts, asked.kinds)) {
      size_t more = BytesOf(facts->argv) + BytesOf(facts->files);
      if (answer.jobs.size() == kAtOnce || (texts += more) > kTextsAtOnce) {
        status = call.Put(answer);
        answer.jobs.clear();
        texts = more;
      }
      answer.jobs.push_back(std::move(*facts));
      --left;
    }
    return status && left > 0;
  });
  if (!visited || !status) return visited ? status : visited;
  return call.Put(answer);
}

Status Answer(const Asking& call, const wire::DescribeJobs& asked) {
  auto numbers = TRY(PickJobs(call.source, asked.jobs));
  for (uint32_t number : numbers) {
    auto details = DetailsOf(call.source, number);
    if (!details) {
      // One of several that was never accepted.
      if (details.error().kind == ErrorKind::kNotFound && numbers.size() > 1) continue;
      return std::unexpected(std::move(details.error()));
    }
    TRY(call.Put(*details));
  }
  return {};
}

Status Answer(const Asking& call, const wire::SumUse& asked) {
  auto numbers = asked.jobs ? PickJobs(call.source, *asked.jobs) : AllJobs(call.source);
  if (!numbers) {
    if (asked.jobs) return std::unexpected(std::move(numbers.error()));
    return numbers.error().kind == ErrorKind::kNotFound ? Status()
                                                        : std::unexpected(numbers.error());
  }
  if (asked.jobs) {
    for (uint32_t number : *numbers) {
      TRY(call.source.Open(number));
    }
  }
  UseReader reader(call, asked);
  TRY(reader.Read(*numbers));
  return reader.Tell(call);
}

Status Answer(const Asking& call, const wire::FindDependents& asked) {
  const Viewer& viewer = call.source.viewer;
  auto found = TRY(call.source.history->index().CancelledDependents(
      asked.job, viewer.is_admin ? "" : viewer.user, asked.most));
  return call.Put(wire::FindDependents::Answer{std::move(found.first), found.count});
}

}  // namespace spate::history
