#include "apps/hub_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

#include "access/proof.h"
#include "apps/hub_look.h"
#include "apps/hub_notes.h"
#include "base/units.h"
#include "base/utc.h"
#include "cli/exit_code.h"
#include "cli/history/job_facts.h"
#include "cli/options/hub_options.h"
#include "cli/options/needs_change.h"
#include "cli/options/run_options.h"
#include "cli/options/submit_options.h"
#include "cli/options/values.h"
#include "cli/options/words.h"
#include "cli/table/table.h"
#include "cli/table/time_text.h"
#include "cli/text/end_text.h"
#include "cli/view/json_line.h"
#include "core/model/ranges.h"
#include "format/selector/selector.h"

namespace spate::apps {
namespace {

using cli::Command;
using cli::JsonLine;

// One command on its way to its answer.
struct Call {
  HubService& service;
  HubClient& client;
  const wire::Command& asked;
  const cli::Words& words;
  cli::OutputForm form;

  bool human() const { return form == cli::OutputForm::kHuman; }
  const Caller& caller() const { return client.caller(); }
  void Put(std::string_view text) { client.Print(1, text); }
  void Say(std::string_view text) {
    if (form != cli::OutputForm::kQuiet) client.Print(2, fmt::format("spate: {}\n", text));
  }
  // When what was posted is durable; without a text nothing is said.
  void Done(std::string text) {
    service.WhenSettled(client.Guarded([this_client = &client, quiet = form, text] {
      bool say = quiet != cli::OutputForm::kQuiet && !text.empty();
      if (say) this_client->Print(2, "spate: " + text + "\n");
      this_client->Exit(cli::kExitSuccess);
    }));
  }
};

Status NeedAdmin(const Call& call) {
  if (call.caller().is_admin) return {};
  return Fail(ErrorKind::kPermission,
              "only the hub's administrators may do that: whoever runs it, root on its machine, "
              "and access files with the role admin");
}

// ---- Jobs --------------------------------------------------------------------------------------

// What ranges of numbers mean. The hub's jobs are listed once, however many ranges ask for them.
class JobRanges {
 public:
  explicit JobRanges(const HubJobs& jobs) : jobs_(jobs) {}
  // False: none of them is there.
  bool Add(const format::NumberRange& range) {
    bool one = range.first == range.last;
    if (one ? jobs_.Find(JobId(range.first)) == nullptr : !HasAny(range)) return false;
    ranges_.push_back(range);
    return true;
  }
  // Each that has ended is read from the journal, hence the bound.
  Status AppendTo(std::vector<JobId>& picked) {
    constexpr size_t kMost = 10'000;
    for (const format::NumberRange& range : format::Merged(std::move(ranges_))) {
      for (JobId job : Between(range)) {
        if (range.Contains(job.value) && jobs_.Find(job)) picked.push_back(job);
        if (picked.size() <= kMost) continue;
        return Fail(ErrorKind::kInvalid,
                    fmt::format("these are more than {} jobs; name fewer at once, or all",
                                FormatCount(kMost)));
      }
    }
    return {};
  }

 private:
  std::span<const JobId> Between(const format::NumberRange& range) {
    if (!all_) all_ = jobs_.AllOf("", true);
    auto first = std::ranges::lower_bound(*all_, JobId(range.first));
    return {first, std::ranges::upper_bound(first, all_->end(), JobId(range.last))};
  }
  bool HasAny(const format::NumberRange& range) {
    return std::ranges::any_of(Between(range),
                               [&](JobId job) { return range.Contains(job.value); });
  }

  const HubJobs& jobs_;
  std::optional<std::vector<JobId>> all_;  // ascending
  std::vector<format::NumberRange> ranges_;
};

// The jobs that words name; those of others are errors.
Result<std::vector<JobId>> PickJobs(const Call& call, const std::vector<std::string>& words,
                                    bool damaged_too = false) {
  std::vector<JobId> picked;
  HubJobs& jobs = call.service.jobs();
  JobRanges ranges(jobs);
  bool all = false;
  for (const std::string& word : words) {
    auto selector = format::ParseJobSelector(word);
    if (!selector) return std::unexpected(selector.error());
    all |= selector->all;
    if (selector->last) {
      auto newest = jobs.NewestOf(call.caller().user);
      if (!newest) return Fail(ErrorKind::kNotFound, "you have no job on this hub yet");
      picked.push_back(*newest);
    }
    for (const format::NumberRange& range : selector->ranges) {
      if (ranges.Add(range)) continue;
      return Fail(ErrorKind::kNotFound,
                  fmt::format("there is no job {} on this hub; see: spate job list{}", word,
                              call.asked.reach));
    }
  }
  if (auto few = ranges.AppendTo(picked); !few) return std::unexpected(few.error());
  if (all) {
    auto unfinished = jobs.UnfinishedOf(call.caller().user, call.caller().is_admin);
    picked.insert(picked.end(), unfinished.begin(), unfinished.end());
  }
  for (JobId job : picked) {
    auto right = damaged_too ? call.service.CheckRight(call.caller(), job)
                             : call.service.CheckUsable(call.caller(), job);
    if (!right) return std::unexpected(right.error());
  }
  std::sort(picked.begin(), picked.end());
  picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  return picked;
}

// The job of a task selector; that of another user is an error.
Result<JobId> PickJob(const Call& call, const format::TasksOfJob& tasks) {
  std::optional<JobId> job;
  if (tasks.job) job = JobId(*tasks.job);
  if (!job) job = call.service.jobs().NewestOf(call.caller().user);
  if (!job) return Fail(ErrorKind::kNotFound, "you have no job on this hub yet");
  if (auto right = call.service.CheckUsable(call.caller(), *job); !right) {
    return std::unexpected(right.error());
  }
  return *job;
}

std::string JobsText(const std::vector<JobId>& jobs) {
  if (jobs.size() == 1) return fmt::format("job {}", jobs.front().value);
  return cli::CountOf(jobs.size(), "job");
}

// Posts one event for each job that has not ended, and returns these.
std::vector<JobId> PostToJobs(Call& call, const std::vector<JobId>& jobs,
                              const std::function<engine::Event(JobId)>& event) {
  std::vector<JobId> changed;
  for (JobId job : jobs) {
    if (call.service.jobs().Find(job)->finished) {
      call.Say(fmt::format("job {} has ended already", job.value));
      continue;
    }
    call.service.hub().Post(event(job));
    changed.push_back(job);
  }
  return changed;
}

Status ChangeJobs(Call& call, const std::function<engine::Event(JobId)>& event,
                  std::string_view done) {
  auto picked = PickJobs(call, call.words.words);
  if (!picked) return std::unexpected(picked.error());
  auto changed = PostToJobs(call, *picked, event);
  call.Done(changed.empty() ? "" : fmt::format("{} {}", JobsText(changed), done));
  return {};
}

using Selected = std::map<JobId, std::vector<format::TasksOfJob>>;

Status SelectTasks(const Call& call, const std::string& word, Selected& selected) {
  auto parts = format::ParseTaskSelector(word);
  if (!parts) return std::unexpected(parts.error());
  for (const format::TasksOfJob& part : *parts) {
    auto job = PickJob(call, part);
    if (!job) return std::unexpected(job.error());
    selected[*job].push_back(part);
  }
  return {};
}

struct Chosen {
  std::vector<TaskRange> tasks;
  uint64_t count = 0;
};

// By index, which of a job's `total` tasks are named.
std::vector<bool> Named(const std::vector<format::TasksOfJob>& parts, uint32_t total) {
  bool all = std::ranges::any_of(parts, &format::TasksOfJob::all);
  std::vector<format::NumberRange> ranges;
  for (const format::TasksOfJob& part : parts) {
    if (!all) ranges.insert(ranges.end(), part.ranges.begin(), part.ranges.end());
  }
  std::vector<bool> named(total, all);
  for (const format::NumberRange& range : format::Merged(std::move(ranges))) {
    for (uint64_t number = range.first; number <= std::min(range.last, total);
         number += range.step) {
      named[number - 1] = true;
    }
  }
  return named;
}

// The tasks of a job that are named and in one of these states.
Chosen Choose(const Call& call, JobId job, const std::vector<format::TasksOfJob>& parts,
              std::initializer_list<TaskState> states) {
  const engine::Engine& engine = call.service.hub().engine();
  auto counts = engine.Counts(job);
  std::vector<bool> named = Named(parts, counts ? counts->total : 0);
  Chosen chosen;
  for (TaskIndex i = 0; i < named.size(); ++i) {
    if (!named[i]) continue;
    if (std::find(states.begin(), states.end(), engine.StateOf(job, i)) == states.end()) continue;
    AppendIndex(chosen.tasks, i);
    ++chosen.count;
  }
  return chosen;
}

// Words with a dot name tasks, others jobs.
Status Cancel(Call& call) {
  Selected selected;
  std::vector<std::string> words;
  for (const std::string& word : call.words.words) {
    if (word.find('.') == std::string::npos) {
      words.push_back(word);
    } else if (auto fine = SelectTasks(call, word, selected); !fine) {
      return fine;
    }
  }
  auto jobs = PickJobs(call, words);
  if (!jobs) return std::unexpected(jobs.error());
  auto cancelled = PostToJobs(call, *jobs, [](JobId job) { return engine::CancelJob{job}; });
  std::vector<std::string> done;
  if (!cancelled.empty()) done.push_back(JobsText(cancelled));
  for (const auto& [job, parts] : selected) {
    Chosen chosen = Choose(call, job, parts, {TaskState::kQueued, TaskState::kLeased});
    if (chosen.count > 0) {
      done.push_back(fmt::format("{} of job {}", cli::CountOf(chosen.count, "task"), job.value));
      call.service.hub().Post(engine::CancelTasks{job, std::move(chosen.tasks), ""});
    } else {
      call.Say(fmt::format("no chosen task of job {} is queued or running", job.value));
    }
  }
  call.Done(done.empty() ? "" : fmt::format("{} cancelled", fmt::join(done, ", ")));
  return {};
}

Status Forget(Call& call) {
  HubJobs& jobs = call.service.jobs();
  std::vector<JobId> chosen;
  if (auto older = call.words.Last(cli::Opt::kOlderThan)) {
    auto age = ParseDuration(*older);
    if (!age) return Within("--older-than", age.error());
    chosen = jobs.EndedBefore(call.service.loop().Now() - *age);
    std::erase_if(chosen, [&](JobId job) {
      return !call.caller().is_admin && jobs.Find(job)->user != call.caller().user;
    });
  } else if (call.words.words.empty()) {
    return Fail(ErrorKind::kInvalid, "which jobs? Write their numbers, or --older-than T");
  } else {
    auto picked = PickJobs(call, call.words.words, /*damaged_too=*/true);
    if (!picked) return std::unexpected(picked.error());
    chosen = std::move(*picked);
  }
  for (JobId job : chosen) {
    bool grows = call.service.Grows(job);
    if ((jobs.Find(job)->finished && !grows) || !jobs.Find(job)->damage.empty()) continue;
    return Fail(ErrorKind::kBusy,
                fmt::format("job {0} has not ended; spate job cancel{1} {0} ends it", job.value,
                            call.asked.reach));
  }
  bool dry = call.words.Has(cli::Opt::kDryRun);
  for (JobId job : chosen) {
    if (!dry) call.service.ForgetJob(job, [] {});
  }
  call.Done(fmt::format("{}{} forgotten", dry ? "would be: " : "", JobsText(chosen)));
  return {};
}

Status Set(Call& call) {
  auto changes = cli::MakeJobChanges(call.words);
  if (!changes) return std::unexpected(changes.error());
  auto event = [&](JobId job) {
    JobPolicy policy = *call.service.hub().engine().Policy(job);
    policy.weight = changes->weight.value_or(policy.weight);
    policy.max_running = changes->max_running.value_or(policy.max_running);
    return engine::ChangePolicy{job, policy};
  };
  return ChangeJobs(call, event, "changed");
}

Status Release(Call& call) {
  auto picked = PickJobs(call, call.words.words);
  if (!picked) return std::unexpected(picked.error());
  for (JobId job : *picked) call.service.hub().Post(engine::ReleaseJob{job});
  call.Done(fmt::format("{} may go on", JobsText(*picked)));
  for (JobId job : *picked) call.service.jobs().Held(job, engine::HoldReason::kNone);
  return {};
}

// Of a hub's job no more than this can be changed.
Status CheckRetryOptions(const cli::Words& words) {
  using cli::Opt;
  constexpr Opt kOthers[] = {Opt::kTimeLimit, Opt::kDryRun, Opt::kOutput, Opt::kHub,
                             Opt::kLocal,     Opt::kAccess, Opt::kState};
  for (const cli::TypedOption& option : words.options) {
    if (cli::ChangesNeeds(option.opt)) continue;
    bool fine = std::find(std::begin(kOthers), std::end(kOthers), option.opt) != std::end(kOthers);
    if (fine) continue;
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: a hub's job keeps the options that it was submitted with; only "
                            "the needs of what is run again (--memory, --cpus, ...) and "
                            "--time-limit can be others",
                            cli::DashedName(option.opt)));
  }
  return {};
}

using SettingsChange = std::function<void(JobSettings&)>;

// --time-limit, which nodes know from the job's settings; null when it is not given.
Result<SettingsChange> TimeLimitChange(const cli::Words& words) {
  auto value = words.Last(cli::Opt::kTimeLimit);
  if (!value) return SettingsChange();
  auto limit = cli::ParseTimeLimit(*value);
  if (!limit) return Within("--time-limit", limit.error());
  return SettingsChange([limit = *limit](JobSettings& settings) {
    settings.time_limit = limit.limit;
    settings.time_limit_percent = limit.percent;
  });
}

Status Retry(Call& call) {
  if (auto known = CheckRetryOptions(call.words); !known) return known;
  auto change = cli::MakeNeedsChange(call.words);
  if (!change) return std::unexpected(change.error());
  auto time_limit = TimeLimitChange(call.words);
  if (!time_limit) return std::unexpected(time_limit.error());
  std::string word = call.words.words.empty() ? "last" : call.words.words.front();
  auto selected = format::ParseTaskSelector(word);
  if (!selected) return std::unexpected(selected.error());
  if (selected->size() != 1) {
    return Fail(ErrorKind::kInvalid, "name one job, as in: spate job retry 12, or 12.3-9");
  }
  auto job = PickJob(call, selected->front());
  if (!job) return std::unexpected(job.error());
  auto there = call.client.IsThere(*job);
  if (!there || !*there) return there ? Status() : std::unexpected(there.error());
  auto [failed, count] = Choose(call, *job, *selected,
                                {TaskState::kFailed, TaskState::kUnknown, TaskState::kCancelled});
  std::string not_done;
  if (failed.empty()) {
    not_done = fmt::format("nothing to retry: no chosen task of job {} has failed", job->value);
  } else if (call.words.Has(cli::Opt::kDryRun)) {
    not_done =
        fmt::format("would be: job {}: {} run again", job->value, cli::CountOf(count, "task"));
  }
  if (!not_done.empty()) {
    call.Say(not_done);
    if (call.service.hub().engine().Finished(*job)) call.service.ForgetSoon(*job);
    call.client.Exit(cli::kExitSuccess);
    return {};
  }
  if (*time_limit) {
    if (auto set = call.service.ChangeSettings(*job, *time_limit); !set) return set;
  }
  call.service.hub().Post(engine::ReopenTasks{*job, std::move(failed), std::move(*change)});
  call.service.hub().Post(engine::ReleaseJob{*job});
  call.service.jobs().Reopened(*job);
  call.Done(fmt::format("job {0}: {1} run again; to wait for them: spate job wait{2} {0}",
                        job->value, cli::CountOf(count, "task"), call.asked.reach));
  return {};
}

Status Explain(Call& call) {
  std::string text;
  for (const std::string& word : call.words.words) {
    auto selected = format::ParseTaskSelector(word);
    if (!selected) return std::unexpected(selected.error());
    for (const format::TasksOfJob& tasks : *selected) {
      auto job = PickJob(call, tasks);
      if (!job) return std::unexpected(job.error());
      uint32_t number = tasks.ranges.empty() ? 1 : tasks.ranges.front().first;
      std::string why = WhyWaits(call.service, *job, number, call.asked.reach);
      if (why.empty()) return Fail(ErrorKind::kNotFound, "");
      if (call.human()) {
        text += fmt::format("{}.{}: {}\n", job->value, number, why);
      } else {
        JsonLine line = cli::TypedLine("explanation");
        line.Number("job", job->value);
        text += line.Number("task", number).Text("why", why).Finish();
      }
    }
  }
  call.Put(text);
  call.client.Exit(cli::kExitSuccess);
  return {};
}

// ---- Nodes -------------------------------------------------------------------------------------

Result<std::vector<NodeId>> PickNodes(const Call& call) {
  std::vector<NodeId> picked;
  for (const std::string& word : call.words.words) {
    if (word == "all") {
      for (const NodeFacts& each : FactsOfNodes(call.service)) picked.push_back(each.node->row.id);
      continue;
    }
    const HubNodes::Node* node = call.service.nodes().FindByName(word);
    if (node == nullptr) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("the hub knows no node '{}'; see: spate node list{}",
                              EscapeForScreen(word), call.asked.reach));
    }
    picked.push_back(node->row.id);
  }
  return picked;
}

std::string MemoryText(uint64_t bytes) { return bytes == 0 ? "" : FormatSize(bytes); }

Status NodeList(Call& call) {
  auto chosen = PickNodes(call);
  if (!chosen) return std::unexpected(chosen.error());
  std::string text;
  cli::Table table({{"NODE", cli::Align::kLeft, 8},
                    {"STATE"},
                    {"USER", cli::Align::kLeft, 6},
                    {"SLOTS", cli::Align::kRight},
                    {"CPUS", cli::Align::kRight},
                    {"MEMORY", cli::Align::kRight},
                    {"TASKS", cli::Align::kRight},
                    {"LOAD", cli::Align::kRight},
                    {"ENDED", cli::Align::kRight},
                    {"FAILED", cli::Align::kRight},
                    {"NOTE", cli::Align::kLeft, 8}},
                   call.asked.width, call.asked.colour,
                   [&](std::string_view bytes) { text += bytes; });
  for (const NodeFacts& each : FactsOfNodes(call.service)) {
    bool wanted = chosen->empty() ||
                  std::find(chosen->begin(), chosen->end(), each.node->row.id) != chosen->end();
    if (!wanted) continue;
    if (!call.human()) {
      bool names = call.form == cli::OutputForm::kQuiet;
      text += names ? EscapeForScreen(each.node->row.name) + "\n" : JsonOf(each).Finish();
      continue;
    }
    const Offer& offer = each.info.offer;
    std::string standing = StandingOf(each);
    bool good = standing == "ready";
    table.Add({{each.node->row.name},
               {standing, good ? cli::Tone::kGood : cli::Tone::kDoubtful},
               {each.node->row.user == "*" ? "all" : each.node->row.user},
               {fmt::format("{}", offer.slots)},
               {fmt::format("{:g}", offer.milli_cpus / 1000.0)},
               {MemoryText(offer.memory)},
               {fmt::format("{}", each.info.leased)},
               {each.node->state ? fmt::format("{:.1f}", each.node->state->machine.load) : ""},
               {fmt::format("{}", each.info.ended)},
               {fmt::format("{}", each.info.failed)},
               {each.info.text}});
  }
  table.Finish();
  call.Put(text);
  if (text.empty() && call.human()) {
    call.Say("no node has joined; start one, here or elsewhere: spate node start --daemon");
  }
  call.client.Exit(cli::kExitSuccess);
  return {};
}

Status NodeInfo(Call& call) {
  auto chosen = PickNodes(call);
  if (!chosen) return std::unexpected(chosen.error());
  for (const NodeFacts& each : FactsOfNodes(call.service)) {
    bool wanted = chosen->empty() ||
                  std::find(chosen->begin(), chosen->end(), each.node->row.id) != chosen->end();
    if (!wanted) continue;
    if (!call.human()) {
      call.Put(JsonOf(each).Finish());
      continue;
    }
    const Offer& offer = each.info.offer;
    std::string text = fmt::format("Node {}\n", EscapeForScreen(each.node->row.name));
    auto add = [&](std::string_view name, const std::string& value) {
      if (!value.empty()) text += fmt::format("  {:<10} {}\n", name, EscapeForScreen(value));
    };
    add("state", StandingOf(each) + ", since " + cli::DateAndTime(each.node->since));
    add("why", each.info.text);
    add("address", each.node->peer);
    add("program", "spate " + each.node->product);
    add("serves", each.node->row.user == "*" ? "all users" : each.node->row.user);
    add("offers", fmt::format("{} slots, {:g} cpus{}", offer.slots, offer.milli_cpus / 1000.0,
                              offer.memory > 0 ? ", " + FormatSize(offer.memory) : ""));
    for (const NamedOffer& named : offer.named) {
      add("", fmt::format("{}: {}", named.name, fmt::join(named.indices, ",")));
    }
    add("labels", fmt::format("{}", fmt::join(offer.labels, " ")));
    if (offer.end_of_life != Instant::Never()) {
      add("until", cli::DateAndTime(offer.end_of_life));
    }
    add("tasks", fmt::format("{} now, {} ended, {} of them failed", each.info.leased,
                             each.info.ended, each.info.failed));
    if (const auto& state = each.node->state) {
      const MachineLoad& machine = state->machine;
      add("machine",
          fmt::format("load {:.1f}, {} free; tasks wait for cpu {:.0f} %, memory {:.0f} "
                      "%, disks {:.0f} % of the time",
                      machine.load, FormatSize(machine.free_memory), machine.cpu_pressure,
                      machine.memory_pressure, machine.io_pressure));
      for (const wire::NodeState::Run& run : state->runs) {
        add("runs", fmt::format("{}.{} since {}", run.ref.job.value, run.ref.index + 1,
                                cli::DateAndTime(run.since)));
      }
    }
    call.Put(text);
  }
  call.client.Exit(cli::kExitSuccess);
  return {};
}

Status ChangeNodes(Call& call) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  auto chosen = PickNodes(call);
  if (!chosen) return std::unexpected(chosen.error());
  std::string_view done;
  for (NodeId node : *chosen) {
    switch (call.words.command) {
      case Command::kNodeDrain:
        call.service.hub().Post(engine::DrainNode{node});
        done = "drained, nothing more starts there";
        break;
      case Command::kNodeResume:
        call.service.nodes().Remove(node, HubNodes::Removal::kNone);
        call.service.hub().Post(engine::UndrainNode{node});
        call.service.hub().Post(engine::ClearSick{node, JobId()});
        done = "in use again";
        break;
      default:
        call.service.nodes().Remove(node, HubNodes::Removal::kEnds);
        done = "removed";
    }
  }
  call.Done(fmt::format("{}: {}", fmt::join(call.words.words, ", "), done));
  return {};
}

// ---- The hub itself ----------------------------------------------------------------------------

Status HubStatus(Call& call) {
  HubService& service = call.service;
  HubFigures figures = FiguresOf(service);
  std::vector<std::string> addresses;
  for (const os::SocketAddress& address : service.door().addresses()) {
    addresses.push_back(address.Text());
  }
  if (!call.human()) {
    call.Put(JsonOf(service, figures).Finish());
  } else {
    std::string text = fmt::format("Hub of spate {}\n", SPATE_VERSION);
    auto add = [&](std::string_view name, const std::string& value) {
      text += fmt::format("  {:<10} {}\n", name, value);
    };
    add("since",
        fmt::format("{} (life {})", cli::DateAndTime(service.since()), service.epoch().value));
    add("folder", EscapeForScreen(service.dir()));
    add("listens", fmt::format("{}", fmt::join(addresses, ", ")));
    add("nodes", fmt::format("{} connected", service.nodes_joined()));
    add("jobs", fmt::format("{} not ended: {} running, {} queued", FormatCount(figures.jobs),
                            cli::CountOf(figures.running, "task"), FormatCount(figures.queued)));
    add("peers", fmt::format("{} accepted, {} refused, {} cut off for a breach of the protocol",
                             figures.accepted, figures.refused, figures.breaches));
    if (service.metrics() != nullptr) {
      add("metrics", fmt::format("http://{}/metrics", service.metrics()->address().Text()));
    }
    call.Put(text);
    if (service.nodes_joined() == 0) {
      call.Say("no node is connected; start one, here or elsewhere: spate node start --daemon");
    }
  }
  call.client.Exit(cli::kExitSuccess);
  return {};
}

std::string BoundText(uint32_t bound) { return bound == 0 ? "any" : fmt::format("{}", bound); }

std::string SizeBoundText(uint64_t bound) { return bound == 0 ? "any" : FormatSize(bound); }

Status Top(Call& call) {
  call.Put(TopLines(call.service, call.caller()));
  call.client.Exit(cli::kExitSuccess);
  return {};
}

Status HubStop(Call& call) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  call.Say("the hub stops; nodes go on with what they have");
  call.client.Exit(cli::kExitSuccess);
  call.service.loop().Post([service = &call.service] { service->Stop(); });
  return {};
}

Status AddAccess(Call& call, const cli::AccessOptions& options) {
  access::Access access;
  access.hubs = call.service.reached_at();
  if (access.hubs.empty()) {
    return Fail(ErrorKind::kUnavailable,
                "the hub listens only at its socket on this machine, where no access file is "
                "needed; start it with --listen HOST to be reached by others");
  }
  auto secret = access::MakeRandom();
  if (!secret) return std::unexpected(secret.error());
  access.pin = call.service.pin();
  access.secret = *secret;
  access.role = static_cast<access::Role>(options.role);
  access.user = options.user.empty() ? call.caller().user : options.user;
  if (access.user == access::kEveryUser && access.role != access::Role::kNode) {
    return Fail(ErrorKind::kInvalid, "--user '*' is for nodes only (--role node)");
  }
  if (options.lifetime) access.expires = call.service.loop().Now() + *options.lifetime;
  // The access that is being added gets its serial before it is written down.
  call.service.access().Add(access, [](Status) {});
  call.service.WhenSettled(
      call.client.Guarded([client = &call.client, text = access::FormatAccess(access)] {
        client->Print(1, text);
        client->Exit(cli::kExitSuccess);
      }));
  return {};
}

Status ListAccess(Call& call) {
  std::string text;
  cli::Table table({{"SERIAL", cli::Align::kRight},
                    {"ROLE"},
                    {"USER", cli::Align::kLeft, 6},
                    {"MADE"},
                    {"EXPIRES"},
                    {"STATE"}},
                   call.asked.width, call.asked.colour,
                   [&](std::string_view bytes) { text += bytes; });
  Instant now = call.service.loop().Now();
  for (const auto& [serial, row] : call.service.access().all()) {
    bool expired = row.expires && *row.expires <= now;
    std::string state = row.revoked ? "revoked" : expired ? "expired" : "good";
    if (call.human()) {
      table.Add({{fmt::format("{}", serial)},
                 {row.role},
                 {row.user},
                 {cli::DateAndMinute(row.created)},
                 {row.expires ? cli::DateAndMinute(*row.expires) : "never"},
                 {state, state == "good" ? cli::Tone::kGood : cli::Tone::kBad}});
      continue;
    }
    JsonLine line = cli::TypedLine("access");
    line.Number("serial", static_cast<int64_t>(serial));
    line.Text("role", row.role).Text("user", row.user).Text("state", state);
    text += line.Finish();
  }
  table.Finish();
  call.Put(text);
  call.client.Exit(cli::kExitSuccess);
  return {};
}

Status RevokeAccess(Call& call, const cli::AccessOptions& options) {
  for (uint64_t serial : options.serials) {
    if (!call.service.access().Revoke(serial, [](Status) {})) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("there is no access {} that could be revoked; see: spate hub access "
                              "list{}",
                              serial, call.asked.reach));
    }
    call.service.DropClientsOf(serial, "this access was revoked");
  }
  call.Done(fmt::format("{} revoked", options.serials.size() == 1
                                          ? fmt::format("access {}", options.serials.front())
                                          : fmt::format("{} accesses", options.serials.size())));
  return {};
}

Status HubAccessVerb(Call& call) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  auto options = cli::MakeAccessOptions(call.words);
  if (!options) return std::unexpected(options.error());
  switch (options->verb) {
    case cli::AccessOptions::Verb::kAdd:
      return AddAccess(call, *options);
    case cli::AccessOptions::Verb::kList:
      return ListAccess(call);
    default:
      return RevokeAccess(call, *options);
  }
}

Status HubUser(Call& call) {
  auto options = cli::MakeUserOptions(call.words);
  if (!options) return std::unexpected(options.error());
  auto users = call.service.hub().engine().Users();
  if (options->changes()) {
    if (auto admin = NeedAdmin(call); !admin) return admin;
    UserRule rule;
    for (const engine::UserInfo& info : users) {
      if (info.user == options->user) rule = info.rule;
    }
    rule.weight = options->weight.value_or(rule.weight);
    rule.max_running = options->max_running.value_or(rule.max_running);
    rule.max_queued = options->max_queued.value_or(rule.max_queued);
    rule.max_output = options->max_output.value_or(rule.max_output);
    call.service.hub().Post(engine::SetUser{options->user, rule});
    call.Done(fmt::format("{}: weight {}, {} running, {} queued, {} of output at most",
                          options->user, rule.weight, BoundText(rule.max_running),
                          BoundText(rule.max_queued), SizeBoundText(rule.max_output)));
    return {};
  }
  std::string text;
  cli::Table table({{"USER", cli::Align::kLeft, 8},
                    {"JOBS", cli::Align::kRight},
                    {"RUNNING", cli::Align::kRight},
                    {"QUEUED", cli::Align::kRight},
                    {"CPUS", cli::Align::kRight},
                    {"WEIGHT", cli::Align::kRight},
                    {"MAX RUNNING", cli::Align::kRight},
                    {"MAX QUEUED", cli::Align::kRight},
                    {"MAX OUTPUT", cli::Align::kRight}},
                   call.asked.width, call.asked.colour,
                   [&](std::string_view bytes) { text += bytes; });
  for (const engine::UserInfo& info : users) {
    if (!options->user.empty() && info.user != options->user) continue;
    if (call.human()) {
      table.Add({{info.user},
                 {fmt::format("{}", info.jobs)},
                 {fmt::format("{}", info.leased)},
                 {fmt::format("{}", info.queued)},
                 {fmt::format("{:g}", info.used)},
                 {fmt::format("{}", info.rule.weight)},
                 {BoundText(info.rule.max_running)},
                 {BoundText(info.rule.max_queued)},
                 {SizeBoundText(info.rule.max_output)}});
      continue;
    }
    JsonLine line = cli::TypedLine("user");
    line.Text("user", info.user);
    line.Number("jobs", info.jobs).Number("running", info.leased).Number("queued", info.queued);
    line.Number("weight", info.rule.weight).Number("max_running", info.rule.max_running);
    line.Number("max_queued", info.rule.max_queued);
    text += line.Number("max_output", static_cast<int64_t>(info.rule.max_output)).Finish();
  }
  table.Finish();
  call.Put(text);
  call.client.Exit(cli::kExitSuccess);
  return {};
}

using Verb = Status (*)(Call&);

Verb VerbOf(Command command) {
  switch (command) {
    case Command::kJobCancel:
      return Cancel;
    case Command::kJobHold:
      return [](Call& call) {
        return ChangeJobs(
            call, [](JobId job) { return engine::HoldJob{job, false}; },
            fmt::format("held; to go on: spate job release{} {}", call.asked.reach,
                        fmt::join(call.words.words, " ")));
      };
    case Command::kJobClose:
      return [](Call& call) {
        return ChangeJobs(
            call, [](JobId job) { return engine::SealJob{job}; }, "takes no more tasks");
      };
    case Command::kJobForget:
      return Forget;
    case Command::kJobSet:
      return Set;
    case Command::kJobRelease:
      return Release;
    case Command::kJobRetry:
      return Retry;
    case Command::kTaskExplain:
      return Explain;
    case Command::kNodeList:
      return NodeList;
    case Command::kNodeInfo:
      return NodeInfo;
    case Command::kNodeDrain:
    case Command::kNodeResume:
    case Command::kNodeRemove:
      return ChangeNodes;
    case Command::kHubStatus:
      return HubStatus;
    case Command::kTop:
      return Top;
    case Command::kHubStop:
      return HubStop;
    case Command::kHubAccess:
      return HubAccessVerb;
    case Command::kHubUser:
      return HubUser;
    default:
      return nullptr;
  }
}

}  // namespace

bool RunHubCommand(HubService& service, HubClient& client, wire::Command& command) {
  auto fail = [&](const Error& error) {
    client.Fail(error);
    return true;
  };
  if (command.argv.empty()) return fail({ErrorKind::kInvalid, "no command"});
  auto found = cli::FindCommand(command.argv);
  if (!found) return fail(found.error());
  auto words = cli::ParseWords(found->command, std::span(command.argv).subspan(found->words));
  if (!words) return fail(words.error());
  Verb verb = VerbOf(found->command);
  if (verb == nullptr) return false;
  auto form = cli::OutputFormOf(*words);
  if (!form) return fail(form.error());
  Call call{service, client, command, *words, *form};
  auto done = verb(call);
  // The journal tells of tasks that have ended, or are no more in the engine.
  bool history = found->command == Command::kTaskExplain;
  if (!done && history && done.error().kind == ErrorKind::kNotFound) return false;
  if (!done) return fail(done.error());
  return true;
}

}  // namespace spate::apps
