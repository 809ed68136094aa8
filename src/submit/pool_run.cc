// `spate run --pool SYSTEM:OPTIONS`: a run whose tasks run in pilots of a batch system. It is a run
// with a hub of its own (daemon/pool_hub.h), in a folder that follows from what was typed, so that
// --resume finds it.

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/conclude.h"
#include "cli/exit_code.h"
#include "cli/options/job_words.h"
#include "cli/options/option_uses.h"
#include "cli/options/option_words.h"
#include "cli/options/shared.h"
#include "client/hub_call.h"
#include "client/hub_setting.h"
#include "os/child.h"
#include "os/file.h"
#include "os/own_dir.h"
#include "os/process.h"
#include "os/remove_tree.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "pool/own_options.h"
#include "present/advice.h"
#include "present/text/end_text.h"
#include "submit/hub_submit.h"

namespace spate::submit {
namespace {

constexpr const char* kPool = "run";
constexpr Duration kUpPatience = Duration::Seconds(30);
// For pilots whose submission an earlier hub could not see answered: most were never carried out.
// One that comes to light later finds no hub, and ends by itself.
constexpr Duration kUnknownPatience = Duration::Seconds(20);
constexpr Duration kEndPatience = Duration::Seconds(120);
constexpr Duration kLook = Duration::Millis(200);

// "slurm:-p short", as typed.
struct PoolWord {
  std::string system;
  std::vector<std::string> options;
};
Result<PoolWord> ReadPoolWord(std::string_view text) {
  size_t colon = text.find(':');
  PoolWord word;
  word.system = text.substr(0, colon);
  if (colon == std::string_view::npos) return word;
  auto words = cli::SplitOptionWords(text.substr(colon + 1));
  if (!words) return Within("--pool", words.error());
  word.options = std::move(*words);
  return word;
}

// Names a folder.
std::string NameOf(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\0';
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

// The pilots of the run, as its hub knows them.
struct Pilots {
  bool has_pool = false;  // its hub has not forgotten the pool yet
  uint32_t count = 0;
  uint32_t unknown = 0;          // neither their batch jobs nor nodes of them are known
  std::vector<std::string> ids;  // of the batch jobs
};

std::string Its(uint32_t pilots) {
  return pilots == 1 ? "its pilot" : fmt::format("its {} pilots", pilots);
}

class PoolRun {
 public:
  explicit PoolRun(const cli::Invocation& invocation) : invocation_(invocation) {}
  Result<int> Run();

 private:
  void ForgetOld(const std::string& runs) const;
  Status FindFolder();
  Status StartHub();
  Result<bool> TakeUpPool();
  Status AddPool();
  Status Release();
  // Asks for a change; to have nothing that could change is good, too.
  template <typename Q>
  Status AskIfAny(Q question) {
    auto done = client::QueryOne(*call_, std::move(question));
    const bool good = done || done.error().kind == ErrorKind::kNotFound;
    return good ? Status() : std::unexpected(done.error());
  }
  Status Look();
  Status EndWork();
  Result<uint32_t> EndPilots();
  void TellLeft(const Error& why);
  void Withdraw();
  Result<int> Work(const cli::Invocation& inner);
  void Pause(Duration time) {
    loop_->At(loop_->Now() + time, [this] { loop_->Stop(); });
    loop_->Run();
  }

  const cli::Invocation& invocation_;
  std::optional<client::Surroundings> here_;
  PoolWord word_;
  std::string state_;
  bool resume_ = false;
  std::unique_ptr<os::RealLoop> loop_;
  std::unique_ptr<os::Child> hub_;
  bool up_ = false, gone_ = false;
  std::unique_ptr<client::HubCall> call_;
  std::optional<Pilots> pilots_;  // at the last look
};

// A run that nobody has gone on with for as long as a run's history is kept.
void PoolRun::ForgetOld(const std::string& runs) const {
  constexpr Duration kKeep = Duration::Seconds(90 * 24 * 3600);
  auto entries = os::ListDir(runs);
  if (!entries) return;
  for (const os::DirEntry& entry : *entries) {
    const std::string run = os::JoinPath(runs, entry.name);
    const std::string dir = client::HubDirOf(run, *here_);
    auto begun = os::Stat(dir);
    if (!begun || loop_->Now() - begun->modified < kKeep || client::HubRuns(dir)) continue;
    (void)os::RemoveTree(run);  // tidying is never worth a failed run
  }
}

Status PoolRun::FindFolder() {
  std::vector<std::string> typed = {here_->cwd};
  for (const std::string& word : invocation_.argv) {
    if (word != "--resume") typed.push_back(word);
  }
  std::string state(invocation_.words.Last(cli::opt::kState).value_or(""));
  const std::string runs = os::JoinPath(client::StateDirOf(state, *here_), "pool-runs");
  ForgetOld(runs);
  state_ = os::JoinPath(runs, NameOf(typed));
  resume_ = invocation_.words.Has(cli::opt::kResume);
  std::string dir = client::HubDirOf(state_, *here_);
  if (client::HubRuns(dir)) {
    return Fail(ErrorKind::kBusy,
                "the same command is already running with its own pool (or its pilots are still "
                "being withdrawn); wait for it, or change a word");
  }
  if (resume_ && !os::Exists(state_)) {
    return Fail(ErrorKind::kNotFound,
                "no earlier run of this command in this folder; leave out --resume");
  }
  if (!resume_) {
    TRY(os::RemoveTree(state_));
  }
  return os::MakeOwnDir(dir, os::Others::kMayPass);
}

Status PoolRun::StartHub() {
  auto program = TRY(os::OwnProgram());
  std::string dir = client::HubDirOf(state_, *here_);
  os::Child::Events events;
  events.output = [this](int, std::string_view) {
    up_ = true;
    loop_->Stop();
  };
  events.ended = [this](int) {
    gone_ = true;
    loop_->Stop();
  };
  os::Child::Options options{
      .spawn = {.argv = {program, "__pool-hub", dir, fmt::format("{}", os::OwnPid())},
                .session = true},
      .outlives_us = true};
  hub_ = TRY(os::Child::Start(*loop_, std::move(options), std::move(events)));
  const Instant until = loop_->Now() + kUpPatience;
  while (!up_ && !gone_ && loop_->Now() < until) Pause(kLook);
  if (up_) return {};
  return Fail(ErrorKind::kUnavailable, fmt::format("the run's own hub did not start; its log is {}",
                                                   os::JoinPath(dir, "log")));
}

// The pool of an earlier run whose hub was ended, too; false: there is none, or no more.
Result<bool> PoolRun::TakeUpPool() {
  for (bool told = false;;) {
    std::string state;
    TRY(client::Query(*call_, wire::LookAtPools{},
                      [&](const PoolFacts& pool) { state = pool.state; }));
    if (state.empty()) return false;
    if (state != "closing") break;
    if (!std::exchange(told, true)) {
      fmt::print(stderr, "spate: waiting until the earlier run's pilots are gone\n");
    }
    Pause(kLook);
  }
  wire::ChangePools resume;
  resume.names = {kPool};
  resume.change = wire::ChangePools::Change::kResume;
  TRY(client::QueryOne(*call_, std::move(resume)));
  return true;
}

Status PoolRun::AddPool() {
  if (resume_ && TRY(TakeUpPool())) return {};
  wire::AddPool asked;
  asked.name = kPool;
  asked.system = word_.system;
  PoolChange& wish = asked.wish;
  PoolSettings& settings = wish.values.settings;
  if (word_.system == "ssh" || word_.system == "local") {
    // One node, for as long as the run.
    wish.Set(wish.values.max_pilots, 1);
    wish.Set(wish.values.min_pilots, 1);
    if (!word_.options.empty()) wish.Set(settings.host, word_.options.front());
  } else {
    pool::OwnOptions own = pool::ReadOwnOptions(word_.system, word_.options);
    wish.Set(settings.options, std::move(own.words));
    if (own.limit) wish.Set(wish.values.time_limit, *own.limit);
  }
  auto trial = client::QueryOne(*call_, std::move(asked));
  return trial ? Status() : std::unexpected(trial.error());
}

// Releases the jobs that an earlier run had to hold.
Status PoolRun::Release() {
  wire::ChangeJobs asked;
  asked.jobs.all = true;
  asked.change = wire::ChangeJobs::Change::kRelease;
  return AskIfAny(std::move(asked));
}

Status PoolRun::Look() {
  Pilots now;
  TRY(client::Query(*call_, wire::LookAtPools{{}, true}, [&](const PoolFacts& pool) {
    now.has_pool = true;
    for (const PilotFacts& pilot : pool.pilots) {
      ++now.count;
      if (!pilot.id.empty()) now.ids.push_back(pilot.id);
      if (pilot.id.empty() && pilot.nodes == 0) ++now.unknown;
    }
  }));
  pilots_ = std::move(now);
  return {};
}

// Ends what runs, and lets no further pilots be requested.
Status PoolRun::EndWork() {
  wire::ChangeJobs hold;
  hold.jobs.all = true;
  hold.end_running = true;
  TRY(AskIfAny(std::move(hold)));
  wire::ChangePools remove;
  remove.names = {kPool};
  remove.change = wire::ChangePools::Change::kRemove;
  return AskIfAny(std::move(remove));
}

// The number of pilots that were withdrawn; kBusy: interrupted, or some of them need too long.
Result<uint32_t> PoolRun::EndPilots() {
  TRY(Look());
  uint32_t most = pilots_->count;
  TRY(EndWork());
  const Instant until = loop_->Now() + kEndPatience;
  Instant known_until = loop_->Now() + kUnknownPatience;
  for (bool told = false;;) {
    TRY(Look());
    most = std::max(most, pilots_->count);
    const Instant now = loop_->Now();
    if (pilots_->count > pilots_->unknown) known_until = now + kUnknownPatience;
    if (!pilots_->has_pool || now >= known_until) return most - pilots_->unknown;
    if (now >= until) return Fail(ErrorKind::kBusy, "the batch system has not ended them yet");
    if (most > 0 && !std::exchange(told, true)) {
      fmt::print(stderr, "spate: withdrawing {}; Ctrl-C leaves this to the run's hub\n", Its(most));
    }
    call_->Pause(kLook);
  }
}

// Names the pilots that could not be withdrawn, and what ends them.
void PoolRun::TellLeft(const Error& why) {
  Pause(kLook);  // to hear whether the hub has ended
  if (pilots_ && pilots_->count == 0) return;
  if (!call_->interrupted()) {
    fmt::print(stderr, "spate: cannot withdraw the pilots: {}\n", why.message);
  }
  const bool is_batch = word_.system != "local" && word_.system != "ssh";
  std::string left = pilots_ ? present::CountOf(pilots_->count, "pilot") : "its pilots, if any";
  if (pilots_ && !pilots_->ids.empty()) {
    const auto& ids = pilots_->ids;
    left = fmt::format("{}{} {}", is_batch ? "batch job" : "pilot", ids.size() == 1 ? "" : "s",
                       fmt::join(ids, ", "));
    if (ids.size() < pilots_->count) left += fmt::format(", {} more", pilots_->count - ids.size());
  }
  const std::string ends = gone_ ? "the run's hub has ended; pilots end after 10 minutes without it"
                                 : fmt::format("the run's hub withdraws {} and then ends",
                                               pilots_ && pilots_->count == 1 ? "it" : "them");
  fmt::print(stderr, "spate: left {}: {} ({}; log: {})\n", is_batch ? "in the queue" : "running",
             left, ends, os::JoinPath(client::HubDirOf(state_, *here_), "log"));
}

// If this fails, the hub withdraws the pilots when this process has ended (daemon/pool_hub.h).
void PoolRun::Withdraw() {
  call_->Resume();
  loop_->OnSignal(os::kSignalInt, [this] { call_->Interrupt(); });
  auto withdrawn = EndPilots();
  if (!withdrawn) return TellLeft(withdrawn.error());
  (void)client::QueryOne(*call_, wire::StopHub{});
  const Instant until = loop_->Now() + kUpPatience;
  while (!gone_ && loop_->Now() < until && !call_->interrupted()) Pause(kLook);
  if (pilots_->unknown > 0) {
    fmt::print(stderr,
               "spate: requested, but not shown by the batch system: {} (without a hub, pilots end "
               "by themselves)\n",
               present::CountOf(pilots_->unknown, "pilot"));
  }
  if (*withdrawn > 0) fmt::print(stderr, "spate: withdrew {}\n", Its(*withdrawn));
}

Result<int> PoolRun::Work(const cli::Invocation& inner) {
  TRY(AddPool());
  if (resume_) {
    TRY(Release());
  }
  std::string line = present::TextOf(Advice("run", "--resume"));
  for (const std::string& typed : invocation_.argv) {
    if (typed != "--resume") line += " " + ShellQuote(typed);
  }
  return RunOnOwnHub(inner, line);
}

Result<int> PoolRun::Run() {
  auto here = TRY(client::Surroundings::Find());
  here_ = std::move(here);
  // Before a hub is started for them.
  auto words = TRY(cli::ParseWords(cli::kRunWords, invocation_.argv));
  TRY(cli::CheckUses(cli::Way::kPool, words));
  auto word = TRY(ReadPoolWord(*invocation_.words.Last(cli::opt::kRunPool)));
  word_ = std::move(word);
  auto loop = TRY(os::RealLoop::Create());
  loop_ = std::move(loop);
  TRY(FindFolder());
  os::IgnoreSignal(os::kSignalPipe);
  TRY(StartHub());
  cli::Invocation inner = invocation_;
  std::erase_if(inner.words.options, [](const cli::TypedOption& option) {
    return option.opt == &cli::opt::kRunPool || option.opt == &cli::opt::kResume ||
           option.opt == &cli::opt::kState;
  });
  inner.words.options.push_back({&cli::opt::kHub, "true"});
  inner.words.options.push_back({&cli::opt::kState, state_});
  auto setting = TRY(FindSetting(inner.words));
  call_ = std::make_unique<client::HubCall>(*loop_, setting.target);
  auto code = Work(inner);
  Withdraw();
  return code;
}

}  // namespace

int RunWithPool(const cli::Invocation& invocation) {
  auto code = PoolRun(invocation).Run();
  return cli::Conclude(invocation, code);
}

}  // namespace spate::submit
