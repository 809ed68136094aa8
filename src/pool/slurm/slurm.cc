// The script goes to sbatch on stdin. squeue is asked for all batch jobs of the user in every state
// that it remembers (MinJobAge, 300 s by default), never for ids: an id that has aged out would
// fail the command for all. So an end is seen as such if somebody asks often enough.
//
// squeue --me knows the user by itself. Fields are separated by "|"; the name comes last, since
// other batch jobs of the user may have any name.
#include "pool/slurm/slurm.h"

#include <algorithm>
#include <array>

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
    {"-J", kTaken},      {"--job-name", kTaken}, {"-o", kTaken},          {"--output", kTaken},
    {"-e", kTaken},      {"--error", kTaken},    {"-a", kOneJob},         {"--array", kOneJob},
    {"-W", kStays},      {"--wait", kStays},     {"--test-only", kStays}, {"-h", kStays, false},
    {"--help", kStays},  {"--usage", kStays},    {"-V", kStays, false},   {"--version", kStays},
    {"--wrap", kScript}, {"--", kScript, false}, {":", kOneJob, false},
};

// Messages of sbatch. If it waits by itself and tries again, the timeout ends it.
constexpr std::string_view kLimits[] = {
    "Slurm temporarily unable to accept job",
    "Resource temporarily unavailable",
    "MaxSubmitJob",
    "Job violates accounting/QOS policy",
    "SubmitLimit",
};
// A policy's limit on one batch job is no matter of waiting.
constexpr std::string_view kNever[] = {"PerJob", "PerNode", "MinCpu", "MinGRES", "TimeLimit"};
constexpr std::string_view kUnavailable[] = {
    "Unable to contact slurm controller",
    "Socket timed out",
    "Required partition not available",
    "authentication error",
    "Zero Bytes were transmitted",
    "Could not establish a configuration source",
    "Communication connection failure",
    "Slurm backup controller in standby mode",
    "Connection refused",
    "Transport endpoint is not connected",
    "Unable to establish controller",
};
constexpr std::string_view kPerhaps[] = {
    "Socket timed out",
    "Zero Bytes were transmitted",
    "Unexpected message received",
    "Transport endpoint is not connected",
};

constexpr std::string_view kQueuedStates[] = {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED"};
constexpr std::string_view kRunningStates[] = {"RUNNING",   "COMPLETING", "SUSPENDED", "STOPPED",
                                               "SIGNALING", "STAGE_OUT",  "RESIZING"};
constexpr std::string_view kHeldStates[] = {"REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"};
constexpr std::string_view kEndedStates[] = {
    "COMPLETED", "CANCELLED", "FAILED",  "TIMEOUT",       "NODE_FAIL",     "PREEMPTED",
    "BOOT_FAIL", "DEADLINE",  "REVOKED", "OUT_OF_MEMORY", "LAUNCH_FAILED",
};
// Reasons for which a pending job stays so until somebody changes it, or the site.
constexpr std::string_view kHeldReasons[] = {
    "JobHeldUser",
    "JobHeldAdmin",
    "BadConstraints",
    "DependencyNeverSatisfied",
    "PartitionTimeLimit",
    "InvalidAccount",
    "InvalidQOS",
    "PartitionNodeLimit",
    "AccountNotAllowed",
    "QOSNotAllowed",
    "PerJob",
    "launch failed requeued held",
    "PerNode",
    "JobHoldMaxRequeue",
    "PartitionConfig",
    "job requeued in held state",
    "launch_failed_requeued_held",
};

template <size_t kSize>
bool In(const std::string_view (&words)[kSize], std::string_view word) {
  return std::ranges::find(words, word) != std::end(words);
}

PilotState StateOf(std::string_view word, std::string_view reason) {
  if (In(kQueuedStates, word)) {
    return ContainsAny(reason, kHeldReasons) ? PilotState::kHeld : PilotState::kQueued;
  }
  if (In(kRunningStates, word)) return PilotState::kRunning;
  if (In(kHeldStates, word)) return PilotState::kHeld;
  return In(kEndedStates, word) ? PilotState::kEnded : PilotState::kUnknown;
}

// "123" or "123;CLUSTER", as --parsable gives it; or the sentence of a wrapper that drops it.
std::optional<std::string> IdOf(std::string_view out) {
  std::optional<std::string> id;
  std::string text = std::string(out) + "\n";  // a wrapper may not end its line
  for (std::string_view line : WholeLines(text)) {
    line = Trimmed(line);
    constexpr std::string_view kSentence = "Submitted batch job ";
    if (line.starts_with(kSentence)) {
      line.remove_prefix(kSentence.size());
      line = line.substr(0, line.find(' '));
    }
    std::string_view number = line.substr(0, line.find(';'));
    if (IsDigits(number)) id = std::string(number);
  }
  return id;
}

class Slurm : public PoolDriver {
 public:
  explicit Slurm(Tools tools) : tools_(std::move(tools)) {}

  Result<CommandLine> Submit(const PilotSpec& spec) const override {
    TRY(CheckSpec(spec));
    if (auto fine = CheckOptions(spec.options, kRefused); !fine) {
      return Within("slurm", fine.error());
    }
    if (!spec.shared_files) {
      return Fail(ErrorKind::kInvalid,
                  "slurm copies no files to its nodes; the pool's folder must be shared with them");
    }
    CommandLine call;
    call.argv = {sbatch(), "--parsable", "--job-name=" + spec.tag,
                 "--output=" + Pattern(spec.output_file), "--nodes=" + std::to_string(spec.nodes)};
    if (spec.time_limit) call.argv.push_back("--time=" + Minutes(*spec.time_limit));
    if (!spec.avoid.empty()) call.argv.push_back("--exclude=" + Joined(spec.avoid, ","));
    Append(call.argv, tools_.everywhere);
    Append(call.argv, spec.options);
    // Before 23.02 a batch job is not told its end. What is left is asked for as one number of
    // time, since times of day come without a zone.
    std::string squeue(Or(tools_.query, "squeue"));
    std::string lines =
        "spate_host=${SLURMD_NODENAME:-$spate_host}\n"
        "if [ -z \"$SLURM_JOB_END_TIME\" ]; then\n"
        "  SPATE_PILOT_LEFT=$(" +
        ShellQuote(squeue) +
        " --noheader --jobs=\"$SLURM_JOB_ID\" --format=%L 2>/dev/null)\n"
        "  export SPATE_PILOT_LEFT\n"
        "fi\n";
    call.input = PilotScript(spec, {"slurm", spec.time_limit, lines});
    return call;
  }

  Submitted ReadSubmit(const Outcome& outcome) const override {
    return ReadId(sbatch(), outcome, IdOf(outcome.out), {kLimits, kUnavailable, kPerhaps, kNever});
  }

  CommandLine Query(const PilotQuery&) const override {
    CommandLine call;
    call.argv = {std::string(Or(tools_.query, "squeue")), "--noheader", "--me", "--states=all",
                 "--format=%i|%T|%r|%j"};
    Append(call.argv, tools_.everywhere);
    call.environment = {"LC_ALL=C"};
    return call;
  }

  Result<std::vector<ListedPilot>> ReadQuery(const PilotQuery& query,
                                             const Outcome& outcome) const override {
    if (outcome.end != Outcome::End::kExited || outcome.exit_code != 0) {
      return Fail(ErrorKind::kUnavailable, Describe(Or(tools_.query, "squeue"), outcome));
    }
    Listing listing(query);
    for (std::string_view line : WholeLines(outcome.out)) {
      ListedPilot pilot;
      pilot.id = std::string(Trimmed(NextField(line, '|')));
      std::string_view word = NextField(line, '|');
      std::string_view reason = NextField(line, '|');
      pilot.tag = std::string(line);
      // An element of an array, "1_7", is none of ours, whatever its name.
      if (!IsDigits(pilot.id)) continue;
      if (reason == "None") reason = {};
      pilot.state = StateOf(word, reason);
      bool plain = word == "PENDING" || word == "RUNNING";
      pilot.reason = std::string(plain ? reason : word);
      if (!plain && !reason.empty()) pilot.reason += " (" + std::string(reason) + ")";
      listing.Add(std::move(pilot));
    }
    return listing.Take();
  }

  CommandLine Cancel(std::span<const std::string> ids) const override {
    return CancelCall(Or(tools_.cancel, "scancel"), tools_.everywhere, ids, IsDigits);
  }

  std::optional<CommandLine> Test(const PilotSpec& spec) const override {
    auto call = Submit(spec);
    if (!call) return std::nullopt;
    call->argv.insert(call->argv.begin() + 1, "--test-only");
    return *call;
  }

 private:
  std::string sbatch() const { return std::string(Or(tools_.submit, "sbatch")); }
  // sbatch expands "%j" and the like in file names.
  static std::string Pattern(std::string_view path) {
    std::string pattern;
    for (char c : path) pattern.append(c == '%' ? 2 : 1, c);
    return pattern;
  }
  // Slurm counts in minutes, and rounds what is smaller up.
  static std::string Minutes(Duration limit) {
    int64_t seconds = std::stoll(WholeSeconds(limit));
    return std::to_string((seconds + 59) / 60);
  }

  Tools tools_;
};

}  // namespace

std::unique_ptr<PoolDriver> MakeSlurm(Tools tools) {
  return std::make_unique<Slurm>(std::move(tools));
}

}  // namespace spate::pool
