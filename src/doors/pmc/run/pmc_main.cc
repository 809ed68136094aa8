#include "doors/pmc/run/pmc_main.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/surroundings.h"
#include "doors/pmc/formats/messages.h"
#include "doors/pmc/formats/options.h"
#include "doors/pmc/run/agent.h"
#include "doors/pmc/run/hosts.h"
#include "doors/pmc/run/master.h"
#include "doors/pmc/run/surroundings.h"
#include "os/affinity.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/process.h"
#include "os/process_group.h"
#include "os/signals.h"
#include "os/temp_dir.h"
#include "os/terminal.h"

namespace spate::pmc {
namespace {

constexpr Duration kScriptPatience = Duration::Seconds(60);
constexpr Duration kScriptGrace = Duration::Seconds(5);
constexpr const char* kMark = "mark";  // in the folder for handing output over
constexpr size_t kMarkBytes = 1000;

void Print(std::string_view text) { (void)os::WriteAll(os::kStderr, text, "standard error"); }

std::expected<Options, Ending> OptionsOf(int argc, char** argv, const std::string& version) {
  std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  auto environment = os::Environment::OfProcess();
  return ReadOptions(args, [&](std::string_view name) { return environment.Get(name); }, version);
}

void ForgetLauncher() {
  const auto environment = os::Environment::OfProcess();
  for (const std::string& entry : environment.entries()) {
    if (IsOfLauncher(entry)) unsetenv(entry.substr(0, entry.find('=')).c_str());
  }
}

// The others may wait for us in a call of all: only the launcher can end them then.
[[noreturn]] void Quit(std::string_view text) {
  Print(AbortLine(text));
  std::_Exit(1);
}

// One process of the job.
class Process {
 public:
  Process(transport::ParallelJob& job, const Options& options, std::string program)
      : job_(job),
        options_(options),
        program_(std::move(program)),
        talk_(options.verbosity),
        began_(os::Clock().Now()) {}

  int Run();

 private:
  int RunMaster();
  int RunWorker();
  void Meet();
  // Shares the surroundings of our host's workers, which must all be met.
  void ShareSurroundings();
  // Runs the host script; empty: all is well.
  std::string RunScript();
  // The first line as the original has it; what follows says where, and what to do.
  static int Abort(std::string_view text) {
    size_t end = text.find('\n');
    Print(AbortLine(text.substr(0, end)));
    if (end != std::string_view::npos) Print(fmt::format("{}\n", text.substr(end + 1)));
    return 1;
  }

  transport::ParallelJob& job_;
  const Options& options_;
  const std::string program_;
  const Talk talk_;
  const Instant began_;
  std::vector<Host> hosts_;
  std::string host_name_;   // ours
  size_t host_ = 0;         // the same, in hosts_
  bool has_agent_ = false;  // we are its first worker
  HostSurroundings surroundings_;
  std::optional<os::ProcessGroup> script_;
};

int Process::Run() {
  if (job_.place().rank > 0) {
    // The first process ends us.
    for (int signal : {os::kSignalTerm, os::kSignalInt, os::kSignalHup}) os::IgnoreSignal(signal);
  }
  os::IgnoreSignal(os::kSignalPipe);
  Meet();
  int code = job_.place().rank == 0 ? RunMaster() : RunWorker();
  if (script_) script_->End(kScriptGrace);
  return code;
}

void Process::Meet() {
  os::Machine machine(os::Environment::OfProcess());
  const os::MachineFacts& facts = machine.facts();
  host_name_ = facts.host_name;
  auto told = job_.Gather(TextOf(
      {facts.host_name, (facts.machine_memory + (1u << 20) - 1) >> 20, facts.machine_cores}));
  hosts_ = HostsOf(told);
  for (size_t i = 0; i < hosts_.size(); ++i) {
    auto at = std::ranges::find(hosts_[i].ranks, job_.place().rank);
    if (at == hosts_[i].ranks.end()) continue;
    host_ = i;
    has_agent_ = at == hosts_[i].ranks.begin();
  }
  ShareSurroundings();
}

void Process::ShareSurroundings() {
  const bool is_worker = job_.place().rank > 0;
  Surroundings own;
  own.environment = os::Environment::OfProcess().entries();
  if (options_.keep_affinity) own.cpus = os::AllowedCpus().Cpus();
  const auto firsts = job_.Gather(has_agent_ ? TextOfFirst(own) : "");
  std::string difference;
  if (is_worker && !has_agent_) {
    const auto first = static_cast<size_t>(hosts_[host_].ranks.front());
    difference = TextOfOther(own, firsts[first]);
  }
  const auto told = job_.Gather(difference);
  if (!has_agent_) return;
  std::vector<std::string> others;
  const std::vector<int>& ranks = hosts_[host_].ranks;
  for (size_t i = 1; i < ranks.size(); ++i) others.push_back(told[static_cast<size_t>(ranks[i])]);
  surroundings_ = Combine(own, others);
}

// Text by which other processes find out if they are on the same machine and see the same folder:
// its path, and what stands in a file of it. On other machines a network file system could show
// files that are not whole yet.
std::string MarkHandover(const os::TempDir& folder, const std::string& host) {
  const std::string text = fmt::format("{} {} {}", host, os::OwnPid(), os::Clock().Now().ns);
  auto marked = os::WriteFile(folder.Path(kMark), text);
  return marked ? folder.path() + "\n" + text : "";
}

// The folder that such a text names, if this process of `host` may use it; else empty.
std::string SharedHandover(const std::string& text, const std::string& host) {
  const size_t end = text.find('\n');
  if (end == std::string::npos || !text.substr(end + 1).starts_with(host + " ")) return "";
  const std::string folder = text.substr(0, end);
  auto mark = os::ReadFile(os::JoinPath(folder, kMark), kMarkBytes);
  return mark && *mark == text.substr(end + 1) ? folder : "";
}

int Process::RunMaster() {
  auto loop = os::RealLoop::Create();
  auto prepared =
      loop ? Prepare(options_, hosts_, talk_) : Result<Prepared>(std::unexpected(loop.error()));
  job_.Broadcast(prepared ? 1 : 0);
  if (!prepared) return Abort(prepared.error().message);
  std::optional<os::TempDir> handover(std::in_place, SpoolPrefix(options_));
  std::string trouble;
  auto all = job_.Gather(MarkHandover(*handover, host_name_));
  all.front().clear();  // our own
  for (const std::string& told : all) trouble = trouble.empty() ? told : trouble;
  job_.Broadcast(trouble.empty() ? 1 : 0);
  if (!trouble.empty()) return Abort(trouble);

  Print(BannerLines({SPATE_VERSION, "", "", job_.place().library}));
  talk_.Log(LogLevel::kInfo, MasterText(static_cast<uint64_t>(job_.place().size - 1)));
  if (options_.max_wall_time > Duration{}) {
    talk_.Log(LogLevel::kInfo, MaxWallTimeText(options_.max_wall_time));
  }
  std::vector<os::Fd> streams;
  for (const Host& host : hosts_) {
    auto stream = job_.Open(**loop, host.ranks.front());
    if (!stream) Quit(stream.error().message);
    streams.push_back(std::move(*stream));
  }
  auto here = client::Surroundings::Find();
  MasterRun run{.options = options_,
                .hosts = hosts_,
                .talk = talk_,
                .program = program_,
                .began = began_,
                .handover = handover->path(),
                .state_dir = here ? client::StateDirOf("", *here) : "",
                .traffic = [this] { return job_.traffic(); }};
  Outcome outcome = RunWorkflow(**loop, run, std::move(*prepared), std::move(streams));
  // It would never come where all end.
  handover.reset();
  if (outcome.lost_host) std::_Exit(outcome.exit_code);
  job_.Drain();
  return job_.Broadcast(outcome.exit_code);
}

int Process::RunWorker() {
  if (job_.Broadcast(0) == 0) return 1;
  const auto told = job_.Gather(has_agent_ ? RunScript() : "");
  if (job_.Broadcast(0) == 0) return 1;
  if (!has_agent_) return job_.Broadcast(0);
  if (!options_.keep_affinity) {
    (void)os::SetAllowedCpus(os::CpuMask::All());
    (void)os::ResetMemoryPolicy();
  }
  ForgetLauncher();
  for (const std::string& name : surroundings_.missing) unsetenv(name.c_str());
  auto loop = os::RealLoop::Create();
  if (!loop) Quit(loop.error().message);
  auto stream = job_.Open(**loop, 0);
  if (!stream) Quit(stream.error().message);
  auto served = ServeHost(**loop, options_, hosts_[host_], static_cast<uint32_t>(host_ + 1),
                          std::move(surroundings_.slots), std::move(*stream),
                          SharedHandover(told.front(), host_name_));
  if (!served) Print(AbortLine(served.error().message));
  job_.Drain();
  return job_.Broadcast(0);
}

std::string Process::RunScript() {
  if (options_.host_script.empty()) return "";
  talk_.Log(LogLevel::kDebug,
            HostScriptStartText(static_cast<uint64_t>(job_.place().rank), options_.host_script));
  auto started = os::ProcessGroup::Start(options_.host_script);
  if (!started) return "Host script failed: " + started.error().message;
  script_ = std::move(*started);
  auto status = script_->Wait(kScriptPatience);
  if (!status) {
    script_->End({});
    script_.reset();
    return HostScriptTimeoutText(kScriptPatience);
  }
  if (*status != 0) return HostScriptEndText(*status);
  talk_.Log(LogLevel::kDebug, HostScriptEndText(0));
  return "";
}

}  // namespace

int PmcMain(int argc, char** argv, const transport::JoinJob& join) {
  const std::string program = argc > 0 ? argv[0] : "pegasus-mpi-cluster";
  const std::string version = BannerLines({SPATE_VERSION, "", "", ""});
  auto asks_help = [](std::string_view word) { return word == "-h" || word == "--help"; };
  if (argc < 2 || std::any_of(argv + 1, argv + argc, asks_help)) {
    auto read = OptionsOf(argc, argv, version);
    if (!read) {
      Print(read.error().text);
      return read.error().exit_code;
    }
  }
  auto job = join(&argc, &argv);
  auto options = OptionsOf(argc, argv, version);
  if (!options) {
    if (job->place().rank == 0) Print(options.error().text);
    return options.error().exit_code;
  }
  if (job->place().size < 2) {
    Print(fmt::format("{}\n", kNoWorker));
    return 1;
  }
  return Process(*job, *options, program).Run();
}

}  // namespace spate::pmc
