// Every so often each file is looked at (Watch), the folders are searched for new ones, and the
// lines are shown. Named files end it when all of them have; a folder is watched until a signal
// comes.

#include "doors/mw/overseer/overseer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/report.h"
#include "doors/mw/overseer/hub_slaves.h"
#include "doors/mw/overseer/local_slaves.h"
#include "doors/mw/overseer/status_lines.h"
#include "doors/mw/overseer/watch.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "present/text/pool_words.h"

namespace spate::mw {
namespace {

constexpr std::string_view kSuffix = ".rsc";
constexpr size_t kMostFiles = 1000;  // watched at once
constexpr int kExitRefused = cli::kExitCouldNotRun;

class Overseer {
 public:
  // `hub`: null, slaves run here.
  Overseer(OverseerOptions options, const client::Surroundings& here, os::RealLoop& loop,
           client::HubCall* hub)
      : options_(std::move(options)),
        here_(here),
        loop_(loop),
        hub_(hub),
        lines_(options_.form, here.environment) {}
  Result<int> Run();

 private:
  Status Begin();
  void StopBy(int signo, int code);
  void Add(const std::string& path, const std::string& shown);
  void SearchFolders();
  void LookAtAll();
  // The exit code, when there is nothing left to do.
  std::optional<int> CodeOfEnd() const;
  void Pause();
  void Leave();
  void Say(const std::string& text);
  std::vector<const Watch*> Shown() const;

  const OverseerOptions options_;
  const client::Surroundings& here_;
  os::RealLoop& loop_;
  client::HubCall* const hub_;
  StatusLines lines_;
  std::map<std::string, std::unique_ptr<Watch>> watches_;  // by path
  std::vector<std::string> folders_;
  std::map<std::string, std::string> folder_troubles_;  // told last
  std::optional<int> stopped_;                          // by a signal: the exit code
  bool leaves_ = false;
  bool full_told_ = false;
};

void Overseer::StopBy(int signo, int code) {
  loop_.OnSignal(signo, [this, code] {
    stopped_ = code;
    if (hub_ != nullptr) hub_->Interrupt();
    loop_.Stop();
  });
}

// Failures caused by a signal are not reported.
void Overseer::Say(const std::string& text) {
  if (!stopped_ || leaves_) lines_.Report(text);
}

void Overseer::Add(const std::string& path, const std::string& shown) {
  if (watches_.contains(path)) return;
  if (watches_.size() >= kMostFiles) {
    if (!std::exchange(full_told_, true)) {
      lines_.Report(fmt::format("{} and other files are left out: one overseer watches at most {}",
                                EscapeForScreen(shown), FormatCount(kMostFiles)));
    }
    return;
  }
  std::unique_ptr<Slaves> slaves;
  if (hub_ != nullptr) {
    ShipmentSettings how{.path = path,
                         .cwd = here_.cwd,
                         .environment = here_.environment.entries(),
                         .ship = options_.ship,
                         .offers = OfferWords(options_.slots, options_.needs)};
    slaves = std::make_unique<HubSlaves>(*hub_, std::move(how), options_.needs);
  } else {
    slaves = std::make_unique<LocalSlaves>(loop_, path, OfferWords(options_.slots, Needs()));
  }
  WatchSettings settings{.path = path,
                         .shown = EscapeForScreen(shown),
                         .slaves_end_with_us = hub_ == nullptr,
                         .say = [this](const std::string& text) { Say(text); }};
  watches_.emplace(path, std::make_unique<Watch>(std::move(settings), std::move(slaves)));
}

Status Overseer::Begin() {
  for (const std::string& typed : options_.paths) {
    std::string path = os::JoinPath(here_.cwd, typed);
    auto absolute = TRY(os::AbsolutePath(path));
    auto info = os::Stat(absolute);
    if (info && info->kind == os::FileKind::kDir) {
      folders_.push_back(absolute);
    } else {
      Add(absolute, typed);
    }
  }
  StopBy(os::kSignalInt, cli::kExitInterrupted);
  StopBy(os::kSignalTerm, cli::kExitTerminated);
  StopBy(os::kSignalHup, cli::kExitHangup);
  return {};
}

void Overseer::SearchFolders() {
  for (const std::string& folder : folders_) {
    auto entries = os::ListDir(folder);
    std::string trouble = entries ? "" : entries.error().message;
    if (trouble != folder_troubles_[folder] && !trouble.empty()) lines_.Report(trouble);
    folder_troubles_[folder] = trouble;
    if (!entries) continue;
    for (const os::DirEntry& entry : *entries) {
      bool may = entry.kind == os::FileKind::kFile || entry.kind == os::FileKind::kSymlink;
      if (may && entry.name.ends_with(kSuffix)) {
        Add(os::JoinPath(folder, entry.name), entry.name);
      }
    }
  }
  // Files that have ended and no longer exist need not be remembered.
  if (folders_.empty()) return;
  std::erase_if(watches_,
                [](const auto& each) { return each.second->ended() && !os::Exists(each.first); });
}

void Overseer::LookAtAll() {
  uint64_t all = 0;
  for (const auto& [path, watch] : watches_) all += watch->slaves();
  for (const auto& [path, watch] : watches_) {
    if (stopped_) return;
    const uint64_t others = all - watch->slaves();
    watch->Poll(loop_.Now(), options_.most - std::min<uint64_t>(options_.most, others));
    all = others + watch->slaves();
  }
}

std::optional<int> Overseer::CodeOfEnd() const {
  if (stopped_) return stopped_;
  if (!folders_.empty()) return std::nullopt;
  int code = cli::kExitSuccess;
  for (const auto& [path, watch] : watches_) {
    if (!watch->ended()) return std::nullopt;
    const Watch::State state = watch->state();
    const bool bad = state == Watch::State::kFailed || state == Watch::State::kStale;
    if (bad) code = std::max<int>(code, cli::kExitTasksFailed);
    if (watch->state() == Watch::State::kRefused) code = std::max(code, kExitRefused);
  }
  return code;
}

void Overseer::Pause() {
  os::TimerId timer = loop_.At(loop_.Now() + options_.every, [this] { loop_.Stop(); });
  loop_.Run();
  loop_.Cancel(timer);
}

void Overseer::Leave() {
  leaves_ = true;
  if (hub_ != nullptr) hub_->Resume();
  for (const auto& [path, watch] : watches_) watch->Leave();
}

std::vector<const Watch*> Overseer::Shown() const {
  std::vector<const Watch*> shown;
  for (const auto& [path, watch] : watches_) shown.push_back(watch.get());
  return shown;
}

Result<int> Overseer::Run() {
  TRY(Begin());
  for (;;) {
    SearchFolders();
    LookAtAll();
    if (!lines_.Show(Shown())) stopped_ = stopped_.value_or(cli::kExitOutputClosed);
    if (auto code = CodeOfEnd()) {
      Leave();
      return *code;
    }
    Pause();
  }
}

// Slaves of --pool NAME would wait for ever if there were no such pool.
Status CheckPool(client::HubCall& hub, const std::string& name, std::string_view reach) {
  std::vector<PoolFacts> pools;
  auto asked = client::Query(hub, wire::LookAtPools(),
                             [&](PoolFacts pool) { pools.push_back(std::move(pool)); });
  if (!asked) return asked;
  return present::CheckPoolOfSubmit(pools, name, reach);
}

Result<int> OverseeOnHub(OverseerOptions options, client::HubSetting setting) {
  client::HubCall hub(*setting.loop, setting.target);
  if (!options.pool.empty()) {
    TRY(CheckPool(hub, options.pool, setting.reach));
  }
  return Overseer(std::move(options), setting.here, *setting.loop, &hub).Run();
}

Result<int> OverseeHere(OverseerOptions options) {
  auto here = TRY(client::Surroundings::Find());
  auto loop = TRY(os::RealLoop::Create());
  os::IgnoreSignal(os::kSignalPipe);
  return Overseer(std::move(options), here, *loop, nullptr).Run();
}

Result<int> Run(OverseerOptions options, const FindHub& find_hub) {
  if (options.local > 0) return OverseeHere(std::move(options));
  auto setting = TRY(find_hub());
  return OverseeOnHub(std::move(options), std::move(setting));
}

}  // namespace

int Oversee(OverseerOptions options, const FindHub& find_hub) {
  auto code = Run(std::move(options), find_hub);
  return code ? *code : cli::ReportError(code.error());
}

}  // namespace spate::mw
