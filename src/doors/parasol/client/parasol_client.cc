#include "doors/parasol/client/parasol_client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "access/access_file.h"
#include "doors/parasol/client/batch_link.h"
#include "doors/parasol/client/para_client.h"
#include "doors/parasol/client/para_results.h"
#include "doors/parasol/client/parasol_changes.h"
#include "doors/parasol/client/site_setting.h"
#include "doors/parasol/client/site_texts.h"
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
    TRY(client::AskOne(link_, wire::LookAtHub()));
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
    auto state = batch_->Ask();
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
