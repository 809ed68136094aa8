#include "doors/parasol/client/parasol_client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "access/access_file.h"
#include "base/number.h"
#include "base/units.h"
#include "core/model/ranges.h"
#include "doors/parasol/client/batch_link.h"
#include "doors/parasol/client/para_client.h"
#include "doors/parasol/client/para_results.h"
#include "doors/parasol/client/site_look.h"
#include "doors/parasol/client/site_setting.h"
#include "doors/parasol/formats/hub_report.h"
#include "doors/parasol/formats/job_list.h"
#include "doors/parasol/formats/results.h"
#include "doors/parasol/programs/para_talk.h"
#include "doors/parasol/programs/parasol.h"
#include "doors/parasol/row/parasol_id.h"
#include "doors/parasol/row/parasol_row.h"
#include "os/file.h"
#include "os/process.h"
#include "os/signals.h"

namespace spate::parasol {
namespace {

constexpr Duration kFirstPause = Duration::Millis(20);
constexpr Duration kLongestPause = Duration::Seconds(1);
constexpr size_t kResultsMost = size_t{4} << 30;
constexpr Duration kMachinePatience = Duration::Seconds(10);
constexpr Duration kLookEvery = Duration::Millis(100);
constexpr size_t kChangedRanges = 50'000;

using Change = wire::ChangeNodes::Change;

// By -host the hub is another machine's; what proves who we are is the same.
Result<client::HubSetting> SettingOf(const ParasolAsk& ask) {
  auto setting = FindSiteSetting();
  std::string host(ask.options.Text("host").value_or(""));
  bool here = host.empty() || host == "localhost" || host == "::1" || host == "127.0.0.1";
  if (!setting || here) return setting;
  if (host == setting->here.machine.facts().host_name) return setting;
  auto file = access::FindAccessFile("", setting->here.environment, access::AccessOf::kOthers);
  if (!file) return Within(fmt::format("-host={}", host), file.error());
  auto access = access::LoadAccess(*file);
  if (!access) return std::unexpected(access.error());
  for (os::Address& address : access->hubs) address.host = host;
  bool admin = access->role == access::Role::kAdmin;
  setting->target = {link::Target::Of(*access), host,
                     admin ? wire::Role::kAdmin : wire::Role::kClient};
  return setting;
}

// ---- Machines ----------------------------------------------------------------------------------

// nullopt: the hub knows no such node, or has removed it.
Result<std::optional<NodeFacts>> FindNode(BatchLink& link, const std::string& name) {
  std::optional<NodeFacts> found;
  auto asked = client::Query(link, wire::ListNodes{.names = {name}},
                             [&](NodeFacts node) { found = std::move(node); });
  if (!asked && asked.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(std::move(asked.error()));
  }
  return found;
}

// The command that starts a node: on the hub's machine of a site, else on the node's.
std::string StartLine(const HubFacts& hub, const std::optional<ParasolSite>& site,
                      const std::vector<std::string>& words) {
  if (site) {
    const ParasolMachine& last = site->machines.back();
    std::string machine = words.size() > 2 ? fmt::format("{}", fmt::join(words, " "))
                                           : fmt::format("{} {} {} {}", words[0], last.cpus,
                                                         last.ram_megabytes, words[1]);
    return fmt::format("here: echo {} | paraNodeStart stdin", ShellQuote(machine));
  }
  bool reached = std::ranges::any_of(
      hub.addresses, [](const std::string& address) { return !address.starts_with('/'); });
  std::string at = reached ? " -hub=" + hub.host : "";
  return fmt::format("there: paraNode start -node={}{}", words[0], at);
}

// kPermission: we are no administrator of the hub.
Status NeedAdmin(BatchLink& link) {
  // A change of no node; the hub says who may make one.
  auto done = client::QueryOne(link, wire::ChangeNodes());
  return done ? Status() : std::unexpected(std::move(done.error()));
}

// `words`: HOST TMPDIR, or all columns of a machine list. Waits for its node. kUnavailable: none of
// that name has joined; the error says how to start one.
Status AddMachine(BatchLink& link, const std::vector<std::string>& words) {
  TRY(NeedAdmin(link));
  const std::string& host = words[0];
  auto resumed =
      client::QueryOne(link, wire::ChangeNodes{.names = {host}, .change = Change::kResume});
  if (!resumed && resumed.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(std::move(resumed.error()));
  }
  Instant until = link.loop().Now() + kMachinePatience;
  for (;;) {
    auto node = TRY(FindNode(link, host));
    if (node && node->state != "away") return {};
    if (link.loop().Now() >= until) break;
    link.call().Pause(kLookEvery);
    if (link.call().interrupted()) return Fail(ErrorKind::kBusy, "interrupted");
  }
  auto look = TRY(SiteLook::At(link, {}));
  return Fail(ErrorKind::kUnavailable,
              fmt::format("no node of {} has joined the hub; to start one, {}", host,
                          StartLine(look.hub, look.site, words)));
}

// `words`: HOST REASON... False: the hub knows no such machine.
Result<bool> RemoveMachine(BatchLink& link, const std::vector<std::string>& words) {
  TRY(NeedAdmin(link));
  auto node = TRY(FindNode(link, words[0]));
  if (!node) return false;
  std::string reason = fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " "));
  TRY(client::QueryOne(
      link, wire::ChangeNodes{.names = {words[0]}, .change = Change::kTurnAway, .reason = reason}));
  return true;
}

// ---- Jobs --------------------------------------------------------------------------------------

struct IdRange {
  uint64_t first = 0, last = 0;
};

std::optional<IdRange> ReadIds(std::string_view word) {
  size_t dash = word.find('-');
  auto first = ReadNumber<uint64_t>(word.substr(0, dash));
  auto last = dash == std::string_view::npos ? first : ReadNumber<uint64_t>(word.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return IdRange{*first, *last};
}

using Chosen = std::map<JobId, std::vector<TaskRange>>;

Status Cancel(BatchLink& link, const Chosen& chosen) {
  for (const auto& [job, ranges] : chosen) {
    TasksOfJob tasks{.job = job.value};
    for (const TaskRange& range : ranges) {
      tasks.ranges.push_back({range.first + 1, range.first + range.count, 1});
      if (tasks.ranges.size() < kChangedRanges && &range != &ranges.back()) continue;
      TRY(client::QueryOne(link, wire::Cancel{.jobs = {}, .tasks = {tasks}}));
      tasks.ranges.clear();
    }
  }
  return {};
}

// `ids`: 7 or 7-12. Those that name nothing, or what has ended, are no errors.
Status RemoveJobs(BatchLink& link, const std::vector<std::string>& ids) {
  std::map<JobId, uint64_t> totals;
  auto asked = client::QueryWork(
      link, wire::LookAtWork(), [&](const JobWork& work) { totals[work.job] = work.counts.total; });
  if (!asked) return asked;
  Chosen chosen;
  for (const std::string& word : ids) {
    auto range = ReadIds(word);
    if (!range) continue;
    auto [job, first] = PartsOfParasolId(range->first);
    auto at = totals.find(job);
    bool is_there = at != totals.end() && PartsOfParasolId(range->last).job == job;
    if (!is_there || first >= at->second) continue;
    uint64_t count = std::min(range->last - range->first + 1, at->second - first);
    chosen[job].push_back({first, static_cast<uint32_t>(count)});
  }
  return Cancel(link, chosen);
}

// The user's jobs with a command like the pattern (parasol.h).
Status RemoveMatchingJobs(BatchLink& link, const std::string& user, const std::string& pattern) {
  std::vector<wire::RangesOfJob> theirs;
  auto asked = client::QueryWork(
      link, wire::LookAtWork{.submission = {}, .user = {}, .tasks = true}, [&](JobWork work) {
        if (work.user == user) theirs.push_back({work.job, std::move(work.unended)});
      });
  if (!asked) return asked;
  Chosen chosen;
  auto choose = [&](const std::vector<HubJob>& jobs) -> Status {
    for (const HubJob& job : jobs) {
      auto [id, task] = PartsOfParasolId(job.id);
      if (MatchesWildcards(pattern, job.command)) AppendIndex(chosen[id], task);
    }
    return {};
  };
  TRY(AskForJobs(link, theirs, choose));
  return Cancel(link, chosen);
}

// ---- The program -------------------------------------------------------------------------------

class Parasol {
 public:
  Parasol(const ParasolAsk& ask, client::HubSetting setting, std::string results);
  Result<int> Run();

 private:
  Status Ping();
  Status RemoveMachineOf();
  Status Pstat2();
  Status ClearSick();
  // Carries out a command whose only answer is that it is done.
  Status Do();

  Result<Needs> NeedsToAdd() const;
  Result<int> AddJob();
  Result<int> WaitFor(uint64_t id, uint64_t results_before);
  Result<int> Finish(BatchClient& batch, const ParasolEnd& end);

  const ParasolAsk& ask_;
  client::HubSetting setting_;
  std::unique_ptr<BatchClient> batch_;  // while we wait; has the setting then, and so the loop
  os::RealLoop& loop_;
  BatchLink link_;
  const std::string results_;
};

Parasol::Parasol(const ParasolAsk& ask, client::HubSetting setting, std::string results)
    : ask_(ask),
      setting_(std::move(setting)),
      loop_(*setting_.loop),
      link_(loop_, setting_.target, StateOf(setting_, results)),
      results_(std::move(results)) {}

Status Parasol::Ping() {
  int64_t count = ask_.words.empty() ? 1 : std::strtoll(ask_.words[0].c_str(), nullptr, 10);
  for (int64_t i = 0; i < count; ++i) {
    TRY(client::QueryOne(link_, wire::LookAtHub()));
  }
  return ParaPrint(fmt::format("Pinged hub {} times\n", count));
}

Status Parasol::RemoveMachineOf() {
  auto removed = TRY(RemoveMachine(link_, ask_.words));
  return ParaPrint(removed ? "ok\n" : "Machine not found.\n");
}

// Jobs that the hub no longer names are in the results when their size is printed.
Status Parasol::Pstat2() {
  TRY(TellAboutSite(ask_, link_, OwnerOf(results_)));
  TRY(CatchUpResults(link_));
  auto file = os::Stat(results_);
  return ParaPrint(ResultsSizeText(file ? file->size : 0));
}

// A batch that the hub does not know is not sick.
Status Parasol::ClearSick() {
  auto cleared = TrustNodesOfBatch(link_);
  bool fine = cleared || cleared.error().kind == ErrorKind::kNotFound;
  return fine ? Status() : cleared;
}

Status Parasol::Do() {
  switch (ask_.verb) {
    case ParasolVerb::kAddMachine:
      return AddMachine(link_, ask_.words);
    case ParasolVerb::kRemoveMachine:
      return RemoveMachineOf();
    case ParasolVerb::kAddSpoke:   // there are none, and none are missed
    case ParasolVerb::kCheckDead:  // dead nodes call the hub all the time
      return NeedAdmin(link_);
    case ParasolVerb::kRemoveJob:
      return RemoveJobs(link_, ask_.words);
    case ParasolVerb::kRemoveJobs:
      return RemoveMatchingJobs(link_, ask_.words[0], ask_.words.size() > 1 ? ask_.words[1] : "*");
    case ParasolVerb::kPing:
      return Ping();
    case ParasolVerb::kPstat2:
      return Pstat2();
    case ParasolVerb::kClearSick:
      return ClearSick();
    case ParasolVerb::kFlushResults:
      (void)TRY(link_.NeedJob());
      return CatchUpResults(link_);
    default:
      return TellAboutSite(ask_, link_, OwnerOf(results_));
  }
}

Result<int> Parasol::Run() {
  loop_.OnSignal(os::kSignalInt, [this] { link_.call().Interrupt(); });
  if (ask_.verb == ParasolVerb::kAddJob) return AddJob();
  TRY(Do());
  return 0;
}

// ---- add job -----------------------------------------------------------------------------------

Result<Needs> Parasol::NeedsToAdd() const {
  auto cpus = TRY(ask_.options.Float("cpu", 0));
  if (cpus < 0) return Fail(ErrorKind::kInvalid, "-cpu cannot be negative");
  uint64_t memory = 0;
  if (auto ram = ask_.options.Text("ram")) {
    auto bytes = ParseParasolSize(*ram);
    if (!bytes) return Within("-ram", bytes.error());
    memory = *bytes;
  }
  return NeedsOfJob(cpus, memory);
}

Result<int> Parasol::AddJob() {
  auto needs = TRY(NeedsToAdd());
  auto folder = TRY(os::AbsolutePath(ask_.options.Text("dir").value_or(".")));
  const std::vector<std::string>& words = ask_.words;
  std::string row;
  AppendParasolRow({.submitted = loop_.Now().ns / 1'000'000'000,
                    .folder = folder,
                    .in = ask_.options.Text("in").value_or(""),
                    .out = ask_.options.Text("out").value_or(""),
                    .text = words.size() == 1 ? words[0] : ParasolText(words)},
                   &row);
  auto before = os::Stat(results_);
  auto accepted = SubmitTasks(link_, os::DirName(results_),
                              {1, [&](size_t) { return needs; }, [&](size_t) { return row; }});
  if (!accepted) return std::unexpected(accepted.error());
  FollowResults(link_);
  uint64_t id = ParasolId(accepted->job, accepted->first);
  if (ask_.options.Has("printId")) {
    TRY(ParaPrint(fmt::format("{}\n", id)));
  } else if (ask_.options.Has("verbose")) {
    TRY(ParaPrint(
        fmt::format("your job {} (\"{}\") has been submitted\n", id, fmt::join(ask_.words, " "))));
  }
  if (!ask_.options.Has("wait")) return 0;
  return WaitFor(id, before ? before->size : 0);
}

// The result stands behind what the file held before the job was added.
Result<int> Parasol::WaitFor(uint64_t id, uint64_t results_before) {
  batch_ = BatchClient::Of(std::move(setting_), link_.state());
  std::string wanted = fmt::format("{}", id);
  for (Duration pause = kFirstPause;; pause = std::min(pause + pause, kLongestPause)) {
    auto state = batch_->QueryState();
    // A hub that is away has the job all the same.
    if (!state && state.error().kind != ErrorKind::kUnavailable) {
      return std::unexpected(state.error());
    }
    bool unended = !state || std::ranges::any_of(state->unended, [id](const auto& range) {
      return range.first <= id && id <= range.last;
    });
    if (!unended) break;
    TRY(batch_->Pause(pause));
  }
  TRY(batch_->CatchUp());
  auto text = TRY(os::ReadFile(results_, kResultsMost));
  size_t from = std::min<size_t>(results_before, text.size());
  auto read = ReadResults(std::string_view(text).substr(from), results_, from);
  for (const ParasolEnd& end : read.ends) {
    if (end.id == wanted) return Finish(*batch_, end);
  }
  return Fail(ErrorKind::kNotFound, fmt::format("job {} was removed; it has no result", id));
}

Result<int> Parasol::Finish(BatchClient& batch, const ParasolEnd& end) {
  if (auto file = ask_.options.Text("err")) {
    auto text = TRY(batch.FetchStderr(std::strtoull(end.id.c_str(), nullptr, 10), end.host));
    TRY(os::WriteFile(std::string(*file), text));
  }
  bool exited = (end.status & 0x7F) == 0;
  return exited ? (end.status >> 8) & 0xFF : kParasolExitError;
}

}  // namespace

Result<int> RunParasol(std::span<const std::string> args) {
  auto ask = TRY(ParseParasol(args));
  auto results = TRY(os::AbsolutePath(ask.options.Text("results").value_or("results")));
  auto setting = TRY(SettingOf(ask));
  return Parasol(ask, std::move(setting), std::move(results)).Run();
}

}  // namespace spate::parasol
