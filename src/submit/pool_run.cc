#include "submit/pool_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/conclude.h"
#include "cli/exit_code.h"
#include "cli/options/option_uses.h"
#include "cli/options/option_words.h"
#include "cli/options/shared.h"
#include "cli/pool/own_options.h"
#include "client/hub_call.h"
#include "client/hub_setting.h"
#include "daemon/pool_hub.h"
#include "os/child.h"
#include "os/file.h"
#include "os/own_dir.h"
#include "os/process.h"
#include "os/remove_tree.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "present/advice.h"
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

// FNV-1a: names a folder.
std::string NameOf(const std::vector<std::string>& words) {
  uint64_t hash = 14695981039346656037u;
  for (const std::string& word : words) {
    for (char c : word) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
    hash = hash * 1099511628211u;
  }
  return fmt::format("{:016x}", hash);
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
  void Withdraw();
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
  events.output = [this](std::string_view) {
    up_ = true;
    loop_->Stop();
  };
  events.exited = [this](int) {
    gone_ = true;
    loop_->Stop();
  };
  auto hub = os::Child::Start(*loop_, {program, "__pool-hub", dir, fmt::format("{}", os::OwnPid())},
                              "", std::move(events));
  if (!hub) return std::unexpected(hub.error());
  hub_ = std::move(*hub);
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
    TRY(client::Ask(*call_, wire::LookAtPools{},
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
  TRY(client::AskOne(*call_, std::move(resume)));
  return true;
}

Status PoolRun::AddPool() {
  if (resume_ && TRY(TakeUpPool())) return {};
  wire::AddPool asked;
  asked.name = kPool;
  asked.system = word_.system;
  PoolWish& wish = asked.wish;
  if (word_.system == "ssh" || word_.system == "local") {
    // One node, for as long as the run.
    wish.max_pilots = wish.min_pilots = 1;
    if (!word_.options.empty()) wish.host = word_.options.front();
  } else {
    cli::OwnOptions own = cli::ReadOwnOptions(word_.system, word_.options);
    wish.options = std::move(own.words);
    wish.time_limit = own.limit;
  }
  auto trial = client::AskOne(*call_, std::move(asked));
  return trial ? Status() : std::unexpected(trial.error());
}

// Releases the jobs that an earlier run had to hold.
Status PoolRun::Release() {
  wire::ChangeJobs asked;
  asked.jobs.all = true;
  asked.change = wire::ChangeJobs::Change::kRelease;
  auto released = client::AskOne(*call_, std::move(asked));
  bool none = !released && released.error().kind == ErrorKind::kNotFound;
  return released || none ? Status() : std::unexpected(released.error());
}

// Whatever goes wrong here, the hub sees the rest through when this process has gone.
void PoolRun::Withdraw() {
  call_->Resume();
  wire::ChangePools remove;
  remove.names = {kPool};
  remove.change = wire::ChangePools::Change::kRemove;
  if (!client::AskOne(*call_, std::move(remove))) return;
  const Instant until = loop_->Now() + kEndPatience;
  Instant known_until = loop_->Now() + kUnknownPatience;
  bool told = false;
  for (;;) {
    uint32_t left = 0;
    uint32_t unknown = 0;
    auto asked = client::Ask(*call_, wire::LookAtPools{{}, true}, [&](const PoolFacts& pool) {
      left += std::max(1u, pool.queued + pool.joined + pool.leaving);
      unknown +=
          static_cast<uint32_t>(std::ranges::count_if(pool.pilots, [](const PilotFacts& pilot) {
            return pilot.id.empty() && pilot.nodes == 0;
          }));
    });
    if (!asked || left == 0 || loop_->Now() >= until) break;
    if (left > unknown) known_until = loop_->Now() + kUnknownPatience;
    if (loop_->Now() >= known_until) break;
    if (!std::exchange(told, true)) {
      fmt::print(stderr, "spate: withdrawing {}; Ctrl-C leaves this to its hub\n",
                 left == 1 ? "its pilot" : fmt::format("its {} pilots", left));
    }
    if (call_->interrupted()) return;
    Pause(kLook);
  }
  (void)client::AskOne(*call_, wire::StopHub{});
  while (!gone_ && loop_->Now() < until) Pause(kLook);
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
  TRY(AddPool());
  if (resume_) {
    TRY(Release());
  }
  std::string line = present::TextOf(Advice("run", "--resume"));
  for (const std::string& typed : invocation_.argv) {
    if (typed != "--resume") line += " " + ShellQuote(typed);
  }
  auto code = RunOnOwnHub(inner, line);
  Withdraw();
  return code;
}

}  // namespace

int RunWithPool(const cli::Invocation& invocation) {
  auto code = PoolRun(invocation).Run();
  return cli::Conclude(invocation, code);
}

}  // namespace spate::submit
