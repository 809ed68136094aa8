#include "doors/parasol/client/site_look.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "doors/parasol/client/unix_seconds.h"
#include "doors/parasol/row/parasol_id.h"
#include "doors/parasol/row/parasol_row.h"
#include "wire/field_bytes.h"

namespace spate::parasol {
namespace {

constexpr uint32_t kMostInSite = 10'000'000;  // elements of its facts
constexpr size_t kRangesAtOnce = 50'000;      // of a question
constexpr const char* kHidden = "-";

template <typename T>
void Append(std::vector<T>& to, std::vector<T>& more) {
  to.insert(to.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
}

// A long one comes in pieces.
void AddWork(std::vector<JobWork>& jobs, JobWork work) {
  if (jobs.empty() || jobs.back().job != work.job) return jobs.push_back(std::move(work));
  Append(jobs.back().unended, work.unended);
  Append(jobs.back().runs, work.runs);
}

// Leaves out nodes that were removed: these are no machines, nor missing ones.
Status AddNodes(client::Asker& hub, SiteLook& look) {
  std::set<std::string, std::less<>> known;
  auto asked =
      client::Query(hub, wire::ListNodes{.names = {}, .removed = true}, [&](NodeFacts node) {
        known.insert(node.name);
        if (node.state != "removed") look.nodes.push_back(std::move(node));
      });
  if (!asked || !look.site) return asked;
  for (const ParasolMachine& machine : look.site->machines) {
    if (!known.contains(machine.name)) look.missing.push_back(machine.name);
  }
  return {};
}

}  // namespace

std::string OneLine(std::string text) {
  std::ranges::replace_if(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; }, ' ');
  return text;
}

Result<SiteLook> SiteLook::At(client::Asker& hub, Depth depth) {
  SiteLook look;
  auto facts = TRY(client::QueryOne(hub, wire::LookAtHub()));
  look.hub = std::move(facts);
  if (!look.hub.site.empty()) {
    auto site = TRY(wire::FromBytes<ParasolSite>("the hub's site", look.hub.site, kMostInSite));
    look.site = std::move(site);
  }
  TRY(AddNodes(hub, look));
  TRY(client::QueryWork(
      hub,
      wire::LookAtWork{.submission = {}, .user = {}, .tasks = depth.tasks, .reset = depth.reset},
      [&](JobWork work) { AddWork(look.jobs, std::move(work)); }));
  return look;
}

bool IsUp(const NodeFacts& node) { return node.state != "away" && node.state != "silent"; }

uint64_t CpusOf(const NodeFacts& node) { return static_cast<uint64_t>(node.cpus); }

uint64_t WaitingCount(const JobWork& job) {
  uint64_t unended = uint64_t{job.counts.queued} + job.counts.leased;
  return unended - std::min<uint64_t>(unended, job.running);
}

std::vector<TaskRange> WaitingTasks(const JobWork& job) {
  std::vector<TaskRange> rest;
  auto next = job.runs.begin();
  for (TaskRange range : job.unended) {
    for (; next != job.runs.end() && next->index < range.first + range.count; ++next) {
      if (next->index < range.first) continue;
      if (next->index > range.first) rest.push_back({range.first, next->index - range.first});
      range = {next->index + 1, range.first + range.count - next->index - 1};
    }
    if (range.count > 0) rest.push_back(range);
  }
  return rest;
}

uint64_t SiteLook::RamUnit() const {
  if (site) return std::max<uint64_t>(site->ram_unit, 1);
  for (const NodeFacts& node : nodes) {
    if (CpusOf(node) > 0 && node.memory > 0) {
      return std::max<uint64_t>(node.memory / CpusOf(node), 1);
    }
  }
  return 1;
}

// The use of others' tasks is told of whole nodes alone.
uint64_t SiteLook::BusyCpus() const {
  std::map<std::string_view, uint64_t> busy;  // by node, in thousandths
  bool hides = false;
  for (const JobWork& job : jobs) {
    hides |= job.hidden;
    for (const TaskRun& run : job.runs) busy[run.node] += job.needs.milli_cpus;
  }
  uint64_t sum = 0;
  for (const NodeFacts& node : nodes) {
    uint64_t rounded_up = (busy[node.name] + kMilliCpu - 1) / kMilliCpu;
    if (hides) {
      const double used = std::min(node.used, 1.0) * static_cast<double>(CpusOf(node));
      rounded_up = std::max(rounded_up, static_cast<uint64_t>(std::ceil(used)));
    }
    if (IsUp(node)) sum += std::min(CpusOf(node), rounded_up);
  }
  return sum;
}

std::set<std::string> SiteLook::Users() const {
  std::set<std::string> users;
  for (const JobWork& job : jobs) {
    if (!job.finished) users.insert(job.user);
  }
  return users;
}

std::vector<std::string> SiteLook::SickHosts() const {
  std::map<std::string_view, std::set<std::string_view>> avoided_by;
  for (const JobWork& job : jobs) {
    for (const AvoidedNode& node : job.avoided) avoided_by[node.node].insert(job.user);
  }
  size_t users = Users().size();
  std::vector<std::string> hosts;
  for (const NodeFacts& node : nodes) {
    bool by_all = users > 0 && avoided_by[node.name].size() == users;
    if (node.state == "sick" || by_all) hosts.push_back(node.name);
  }
  return hosts;
}

// ---- What runs and waits -----------------------------------------------------------------------

namespace {

Result<HubJob> JobOf(const wire::RowsRead& read, const RowFacts& facts) {
  HubJob job{.id = ParasolId(read.job, facts.index),
             .user = read.user,
             .command = kHidden,
             .submitted = UnixSeconds(read.created),
             .results = read.name ? OneLine(*read.name) : kHidden};
  if (!facts.row.empty()) {
    auto row = TRY(ReadParasolRow(facts.row));
    job.submitted = row.submitted;
    job.command = OneLine(ParasolCommand(row.text));
  } else if (!facts.command.empty()) {
    job.command = OneLine(facts.command);
  }
  return job;
}

Status TakeRows(const wire::RowsRead& read, const TakeJobs& take) {
  std::vector<HubJob> jobs;
  for (const RowFacts& facts : read.rows) {
    auto job = TRY(JobOf(read, facts));
    jobs.push_back(std::move(job));
  }
  return take(std::move(jobs));
}

}  // namespace

Status AskForJobs(client::Asker& hub, const std::vector<wire::RangesOfJob>& tasks,
                  const TakeJobs& take) {
  wire::ReadRows question{.tasks = {}, .whole = RowKind::kParasol};
  size_t ranges = 0;
  auto ask = [&]() -> Status {
    if (ranges == 0) return {};
    ranges = 0;
    auto asked = client::Query(hub, question,
                               [&](const wire::RowsRead& read) { return TakeRows(read, take); });
    question.tasks.clear();
    return asked;
  };
  for (const wire::RangesOfJob& of_job : tasks) {
    question.tasks.push_back({of_job.job, {}});
    for (const TaskRange& range : of_job.tasks) {
      question.tasks.back().tasks.push_back(range);
      if (++ranges < kRangesAtOnce) continue;
      TRY(ask());
      question.tasks.push_back({of_job.job, {}});
    }
  }
  return ask();
}

Result<std::vector<HubJob>> RunningJobs(client::Asker& hub, const std::vector<JobWork>& jobs) {
  std::map<uint64_t, const TaskRun*> runs;
  std::vector<wire::RangesOfJob> tasks;
  for (const JobWork& job : jobs) {
    if (job.runs.empty()) continue;
    wire::RangesOfJob& of_job = tasks.emplace_back(job.job, std::vector<TaskRange>());
    for (const TaskRun& run : job.runs) {
      of_job.tasks.push_back({run.index, 1});
      runs[ParasolId(job.job, run.index)] = &run;
    }
  }
  std::vector<HubJob> running;
  TRY(AskForJobs(hub, tasks, [&](std::vector<HubJob> piece) -> Status {
    for (HubJob& job : piece) {
      const TaskRun& run = *runs.at(job.id);
      job.host = run.node;
      job.started = UnixSeconds(run.since);
    }
    Append(running, piece);
    return {};
  }));
  std::ranges::sort(running, {}, &HubJob::id);
  return running;
}

Status AskForWaiting(client::Asker& hub, const std::vector<JobWork>& jobs, const TakeJobs& take) {
  std::vector<wire::RangesOfJob> tasks;
  for (const JobWork& job : jobs) tasks.push_back({job.job, WaitingTasks(job)});
  return AskForJobs(hub, tasks, take);
}

}  // namespace spate::parasol
