// The script goes to qsub on stdin, with -C "": the prologue may hold lines that begin with "#$".
// qstat cuts names in its table, so its XML is read. "-s prsz" adds the batch jobs that have just
// ended (finished_jobs of the site, 100 by default).
//
// A batch job whose folder or output file cannot be had is not ended, but left in the queue in the
// state "Eqw" until somebody deletes it: held. Therefore the script itself goes to its folder.
#include "pool/gridengine/gridengine.h"

#include <algorithm>

#include "base/units.h"
#include "pool/parts.h"
#include "pool/script.h"

namespace spate::pool {
namespace {

constexpr std::string_view kTaken = "the pool sets it";
constexpr std::string_view kOneJob = "a pilot is one batch job";
constexpr std::string_view kStays = "the submit command must return at once, with an id";
constexpr std::string_view kScript = "the pool generates the script";
constexpr RefusedOption kRefused[] = {
    {"-N", kTaken, false},    {"-o", kTaken, false},
    {"-e", kTaken, false},    {"-j", kTaken, false},
    {"-t", kOneJob, false},   {"-tc", kOneJob, false},
    {"-sync", kStays, false}, {"-now", kStays, false},
    {"-help", kStays, false}, {"-verify", kStays, false},
    {"-b", kScript, false},   {"-C", kScript, false},
    {"-S", kScript, false},   {"-i", kScript, false},
    {"--", kScript, false},   {"-@", "write its words out", false},
};

constexpr int kLimitExit = 25;  // qsub's own code for "not now"
constexpr std::string_view kLimits[] = {
    "jobs are allowed per user",
    "jobs are allowed per cluster",
    "exceeds the max_u_jobs",
    "try again later",
};
constexpr std::string_view kUnavailable[] = {
    "unable to send message to qmaster",
    "unable to contact qmaster",
    "commlib error",
    "unable to read qmaster name",
    "SGE_ROOT directory",
    "Unable to initialize environment",
    "cannot connect to qmaster",
    "got no response from JSV",
    "failed receiving gdi request",
};
constexpr std::string_view kPerhaps[] = {"failed receiving gdi request", "got read error"};

// The text between <NAME> and </NAME>. Entities stay: the texts that we look for have none.
std::string Element(std::string_view xml, std::string_view name) {
  std::string open = "<" + std::string(name) + ">", close = "</" + std::string(name) + ">";
  size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return {};
  begin += open.size();
  size_t end = xml.find(close, begin);
  if (end == std::string_view::npos) return {};
  return std::string(Trimmed(xml.substr(begin, end - begin)));
}

// The letters of qstat: E error, h hold, q queued, w waiting, r running, t being brought, s S T N P
// suspended, R restarted, d being deleted, z ended. "dr" still has its slots, "hqw" waits.
PilotState StateOf(std::string_view letters) {
  auto has = [letters](char c) { return letters.contains(c); };
  if (letters.empty() || letters.find_first_not_of("EhqwrtsSTNPRdz") != std::string_view::npos) {
    return PilotState::kUnknown;
  }
  if (has('z')) return PilotState::kEnded;
  if (has('q') || has('w')) {
    return has('E') || has('h') ? PilotState::kHeld : PilotState::kQueued;
  }
  if (has('E')) return PilotState::kHeld;
  return PilotState::kRunning;
}

bool PathIsPlain(std::string_view path) {
  return path.find_first_of(",:$\"'") == std::string_view::npos;
}

class GridEngine : public PoolDriver {
 public:
  explicit GridEngine(Tools tools) : tools_(std::move(tools)) {}

  Result<CommandLine> Submit(const PilotSpec& spec) const override {
    TRY(CheckSpec(spec));
    if (auto fine = CheckOptions(spec.options, kRefused); !fine) {
      return Within("gridengine", fine.error());
    }
    auto invalid = [](std::string text) { return Fail(ErrorKind::kInvalid, std::move(text)); };
    if (!spec.shared_files) {
      return invalid(
          "gridengine copies no files to its nodes; the pool's folder must be shared with them");
    }
    // Sites name their parallel environments as they like, and count in slots.
    if (spec.nodes > 1 && std::ranges::find(spec.options, "-pe") == spec.options.end()) {
      return invalid(
          "gridengine allocates several hosts only through a parallel environment of the site; add "
          "-pe NAME SLOTS to its options (qconf -spl lists them); one node starts on each host");
    }
    if (!PathIsPlain(spec.output_file)) {
      return invalid(
          "qsub does not accept this output file (, : $ and quotes have special meanings): " +
          EscapeForScreen(spec.output_file));
    }
    CommandLine call;
    call.argv = {qsub(), "-terse", "-N",      spec.tag, "-o", spec.output_file, "-j",
                 "y",    "-S",     "/bin/sh", "-C",     "",   "-notify"};
    if (spec.time_limit) {
      call.argv.push_back("-l");
      call.argv.push_back("h_rt=" + WholeSeconds(*spec.time_limit));
    }
    if (!spec.avoid.empty()) {
      // Without -w e, a job that no other host could run waits forever.
      call.argv.insert(call.argv.end(), {"-l", "h=!(" + Joined(spec.avoid, "|") + ")", "-w", "e"});
    }
    Append(call.argv, tools_.everywhere);
    Append(call.argv, spec.options);
    auto limit = spec.time_limit;
    if (auto text = ResourceOption(spec.options, "h_rt")) {
      limit = ParseLimit(*text, Duration::Seconds(1));
    }
    call.input = PilotScript(spec, {"gridengine", limit, "spate_host=${HOSTNAME:-$spate_host}\n"});
    return call;
  }

  Submitted ReadSubmit(const Outcome& outcome) const override {
    return ReadId(qsub(), outcome, IdOf(outcome.out),
                  {kLimits, kUnavailable, kPerhaps, {}, kLimitExit});
  }

  CommandLine Query(const PilotQuery&) const override {
    CommandLine call;
    call.argv = {qstat(), "-xml", "-s", "prsz"};
    Append(call.argv, tools_.everywhere);
    if (!tools_.user.empty()) {
      call.argv.push_back("-u");
      call.argv.push_back(tools_.user);
    }
    call.environment = {"LC_ALL=C"};
    return call;
  }

  Result<std::vector<ListedPilot>> ReadQuery(const PilotQuery& query,
                                             const Outcome& outcome) const override {
    if (outcome.end != Outcome::End::kExited || outcome.exit_code != 0) {
      return Fail(ErrorKind::kUnavailable, Describe(qstat(), outcome));
    }
    Listing listing(query);
    std::string_view rest = outcome.out;
    constexpr std::string_view kBegin = "<job_list", kEnd = "</job_list>";
    for (size_t at = rest.find(kBegin); at != std::string_view::npos; at = rest.find(kBegin)) {
      rest.remove_prefix(at + kBegin.size());
      // A list that is cut off tells nothing; nor does one that another begins in.
      size_t end = rest.find(kEnd), next = rest.find(kBegin);
      if (end == std::string_view::npos) break;
      if (next < end) continue;
      std::string_view xml = rest.substr(0, end);
      ListedPilot pilot;
      pilot.id = Element(xml, "JB_job_number");
      pilot.tag = Element(xml, "JB_name");
      if (!IsDigits(pilot.id)) continue;
      std::string letters = Element(xml, "state");
      pilot.state = StateOf(letters);
      if (letters != "r" && letters != "qw") pilot.reason = letters;
      listing.Add(std::move(pilot));
    }
    return listing.Take();
  }

  CommandLine Cancel(std::span<const std::string> ids) const override {
    return CancelCall(Or(tools_.cancel, "qdel"), tools_.everywhere, ids, IsDigits);
  }

  std::optional<CommandLine> Test(const PilotSpec& spec) const override {
    auto call = Submit(spec);
    if (!call) return std::nullopt;
    // Behind the user's options, which may hold another -w.
    call->argv.insert(call->argv.end(), {"-w", "v"});
    return *call;
  }

 private:
  std::string qsub() const { return std::string(Or(tools_.submit, "qsub")); }
  std::string qstat() const { return std::string(Or(tools_.query, "qstat")); }

  // "7" of -terse, or 'Your job 7 ("NAME") has been submitted' of a wrapper that drops the option.
  static std::optional<std::string> IdOf(std::string_view out) {
    std::optional<std::string> id;
    std::string text = std::string(out) + "\n";
    for (std::string_view line : WholeLines(text)) {
      line = Trimmed(line);
      constexpr std::string_view kSentence = "Your job ";
      if (line.starts_with(kSentence) && line.contains("has been submitted")) {
        line.remove_prefix(kSentence.size());
        line = line.substr(0, line.find(' '));
      }
      if (IsDigits(line)) id = std::string(line);
    }
    return id;
  }

  Tools tools_;
};

}  // namespace

std::unique_ptr<PoolDriver> MakeGridEngine(Tools tools) {
  return std::make_unique<GridEngine>(std::move(tools));
}

}  // namespace spate::pool
