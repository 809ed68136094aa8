// The script goes to qsub on stdin, with -C "": the prologue may hold lines that begin with "#PBS".
//
// qstat cannot ask for one user's batch jobs in full, only for all of the site or for ids. So a
// query is a small script: qselect names the user's, and qstat tells of these and of the ids that
// are known. Ids that are gone make qstat exit with 153 or 35, with a line for each of them on
// stderr, and what is there on stdout all the same; both codes are answers. A line of "has
// finished" names an end; "Unknown Job Id" does not: sites without a history say so of all that
// ended, and a server that lost its database of all.
//
// The long form of qstat is read, not its JSON, which some versions write with raw quotes in it.
#include "pool/pbs/pbs.h"

#include <algorithm>
#include <utility>

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
    {"-N", kTaken},        {"-o", kTaken},         {"-e", kTaken},  {"-j", kTaken},
    {"-k", kTaken},        {"-J", kOneJob},        {"-I", kStays},  {"-X", kStays},
    {"-z", kStays},        {"-f", kStays},         {"-G", kStays},  {"-C", kScript},
    {"--version", kStays}, {"--", kScript, false}, {"-S", kScript},
};

constexpr std::string_view kLimits[] = {
    "would exceed", "Maximum number of jobs",  "maximum number of jobs",
    "job limit",    "limit on number of jobs", "exceeds queue's maximum number of jobs",
};
constexpr std::string_view kUnavailable[] = {
    "cannot connect to server",
    "Connection refused",
    "cannot connect to host",
    "Queue is not enabled",
    "End of File",
    "Server is shutting down",
    "Request timed out",
    "Communication failure",
    "pbs_iff",
    "Batch protocol error",
    "Premature end of message",
};
constexpr std::string_view kPerhaps[] = {"End of File", "Premature end of message",
                                         "Batch protocol error", "Communication failure"};

// PBSE_UNKJOBID and PBSE_HISTJOBID, as much of them as an exit code holds.
constexpr int kSomeUnknown = 153, kSomeFinished = 35;

// "7.server"; an element of an array, "7[3].server", and a whole one, "7[].server", are no pilots.
bool IsId(std::string_view id) {
  size_t dot = id.find('.');
  constexpr std::string_view kName =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return dot != std::string_view::npos && dot + 1 < id.size() && IsDigits(id.substr(0, dot)) &&
         id.substr(dot).find_first_not_of(kName) == std::string_view::npos;
}

PilotState StateOf(std::string_view word) {
  if (word.size() != 1) return PilotState::kUnknown;
  switch (word[0]) {
    case 'Q':  // queued
    case 'T':  // being moved to another server
    case 'W':  // waits for its time
      return PilotState::kQueued;
    case 'R':
    case 'B':
    case 'E':  // ends
    case 'S':  // suspended
    case 'U':  // suspended for the user of a workstation
      return PilotState::kRunning;
    case 'H':
      return PilotState::kHeld;
    case 'F':  // finished, of the history
    case 'X':
      return PilotState::kEnded;
    default:  // also M: moved away
      return PilotState::kUnknown;
  }
}

// The long form: "Job Id: ID", then "    NAME = VALUE"; a line that begins with a tab goes on with
// the last value.
void ReadLong(std::string_view text, Listing& listing) {
  ListedPilot pilot;
  std::string name, value, state, comment;
  auto end_field = [&] {
    if (name == "Job_Name") pilot.tag = value;
    if (name == "job_state") state = value;
    if (name == "comment") comment = value;
    name.clear();
    value.clear();
  };
  auto end_pilot = [&] {
    end_field();
    // Without a state the text was cut off.
    if (IsId(pilot.id) && !state.empty()) {
      pilot.state = StateOf(state);
      pilot.reason = comment;
      if (pilot.reason.empty() && state != "Q" && state != "R") pilot.reason = state;
      listing.Add(pilot);
    }
    pilot = {};
    state.clear();
    comment.clear();
  };
  for (std::string_view line : WholeLines(text)) {
    constexpr std::string_view kBegin = "Job Id: ";
    if (line.starts_with(kBegin)) {
      end_pilot();
      pilot.id = std::string(Trimmed(line.substr(kBegin.size())));
    } else if (line.starts_with('\t')) {
      value += line.substr(1);
    } else {
      end_field();
      size_t equals = line.find(" = ");
      if (!line.starts_with("    ") || equals == std::string_view::npos) continue;
      name = std::string(Trimmed(line.substr(0, equals)));
      value = std::string(line.substr(equals + 3));
    }
  }
  end_pilot();
}

// "qstat: 7.server Job has finished, use -x or -H to obtain historical job information".
void ReadFinished(std::string_view text, Listing& listing) {
  for (std::string_view line : WholeLines(text)) {
    size_t end = line.find(" Job has finished");
    if (end == std::string_view::npos) continue;
    std::string_view id = line.substr(0, end);
    id = id.substr(id.rfind(' ') + 1);
    if (IsId(id)) {
      listing.Add({.id = std::string(id), .tag = "", .state = PilotState::kEnded, .reason = ""});
    }
  }
}

// $0 is sh; $1 qselect, $2 qstat, $3 the user, or nothing; the rest are ids.
constexpr std::string_view kQueryScript = R"(set -f
select=$1 stat=$2 user=$3
shift 3
found=$("$select" ${user:+-u "$user"}) || exit
set -- "$@" $found
[ $# -eq 0 ] || exec "$stat" -f "$@")";

// $0 is sh; $1 qdel, the rest are qsub and its words. What qsub says besides the id is shown.
constexpr std::string_view kTestScript = R"(delete=$1
shift
id=$("$@") || exit
"$delete" "$id" || { echo "the held batch job $id cannot be deleted" >&2; exit 1; })";

class Pbs : public PoolDriver {
 public:
  explicit Pbs(Tools tools) : tools_(std::move(tools)) {}

  Result<CommandLine> Submit(const PilotSpec& spec) const override {
    TRY(CheckSpec(spec));
    if (auto fine = CheckOptions(spec.options, kRefused); !fine) return Within("pbs", fine.error());
    auto invalid = [](std::string text) { return Fail(ErrorKind::kInvalid, std::move(text)); };
    if (std::ranges::any_of(spec.options,
                            [](const std::string& word) { return word.contains("block=true"); })) {
      return invalid("option block=true cannot be given to a pool: " + std::string(kStays));
    }
    if (!spec.shared_files) {
      return invalid(
          "pbs cannot copy files for a pool; the pool's folder must be shared with its nodes");
    }
    if (spec.output_file.find_first_of(":,") != std::string::npos) {
      return invalid("qsub does not accept this output file (: and , have special meanings): " +
                     EscapeForScreen(spec.output_file));
    }
    // "nodes" is the old way to say it; the server takes one of both.
    bool selects = ResourceOption(spec.options, "select") || ResourceOption(spec.options, "nodes");
    CommandLine call;
    call.argv = {qsub(), "-N",      spec.tag, "-o", spec.output_file, "-j", "oe",
                 "-S",   "/bin/sh", "-C",     ""};
    auto resource = [&call](std::string text) {
      call.argv.push_back("-l");
      call.argv.push_back(std::move(text));
    };
    if (spec.nodes > 1 && !selects) {
      resource("select=" + std::to_string(spec.nodes));
      resource("place=scatter");
    }
    if (spec.time_limit) resource("walltime=" + WholeSeconds(*spec.time_limit));
    Append(call.argv, spec.options);
    auto limit = spec.time_limit;
    if (auto text = ResourceOption(spec.options, "walltime")) {
      limit = ParseLimit(*text, Duration::Seconds(1));
    }
    call.input = PilotScript(spec, {"pbs", limit, ""});
    return call;
  }

  Submitted ReadSubmit(const Outcome& outcome) const override {
    return ReadId(qsub(), outcome, IdOf(outcome.out), {kLimits, kUnavailable, kPerhaps});
  }

  CommandLine Query(const PilotQuery& query) const override {
    CommandLine call;
    call.argv = {"/bin/sh",
                 "-c",
                 std::string(kQueryScript),
                 "sh",
                 std::string(Or(tools_.select, "qselect")),
                 std::string(Or(tools_.query, "qstat")),
                 tools_.user};
    std::ranges::copy_if(query.ids, std::back_inserter(call.argv), IsId);
    call.environment = {"LC_ALL=C"};
    return call;
  }

  Result<std::vector<ListedPilot>> ReadQuery(const PilotQuery& query,
                                             const Outcome& outcome) const override {
    bool answered = outcome.end == Outcome::End::kExited &&
                    (outcome.exit_code == 0 || outcome.exit_code == kSomeUnknown ||
                     outcome.exit_code == kSomeFinished);
    if (!answered || ContainsAny(outcome.err, kUnavailable)) {
      return Fail(ErrorKind::kUnavailable, Describe(Or(tools_.query, "qstat"), outcome));
    }
    Listing listing(query);
    ReadLong(outcome.out, listing);
    ReadFinished(outcome.err, listing);
    return listing.Take();
  }

  CommandLine Cancel(std::span<const std::string> ids) const override {
    return CancelCall(Or(tools_.cancel, "qdel"), {}, ids, IsId);
  }

  // qsub has no dry run: a batch job that is held is submitted and deleted at once. qsub refuses
  // the same of it as of others; only what the scheduler finds out later is not seen.
  std::optional<CommandLine> Test(const PilotSpec& pilot) const override {
    PilotSpec spec = pilot;
    spec.tag = "spate-test";  // that no pool has
    auto submit = Submit(spec);
    if (!submit) return std::nullopt;
    CommandLine call = std::move(*submit);
    const std::vector<std::string> words = std::exchange(
        call.argv,
        {"/bin/sh", "-c", std::string(kTestScript), "sh", std::string(Or(tools_.cancel, "qdel"))});
    call.name = words.front();
    call.argv.push_back(words.front());
    call.argv.emplace_back("-h");
    call.argv.insert(call.argv.end(), words.begin() + 1, words.end());
    return call;
  }

 private:
  std::string qsub() const { return std::string(Or(tools_.submit, "qsub")); }

  static std::optional<std::string> IdOf(std::string_view out) {
    std::optional<std::string> id;
    std::string text = std::string(out) + "\n";
    for (std::string_view line : WholeLines(text)) {
      if (IsId(Trimmed(line))) id = std::string(Trimmed(line));
    }
    return id;
  }

  Tools tools_;
};

}  // namespace

std::unique_ptr<PoolDriver> MakePbs(Tools tools) { return std::make_unique<Pbs>(std::move(tools)); }

}  // namespace spate::pool
