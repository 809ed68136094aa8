// condor_submit reads a submit description on stdin; the script is the job's executable, so it has
// to be a file. The tag is the batch's name, which people see in condor_q, and an attribute of our
// own, which nobody changes and queries ask for.
//
// Pools of HTCondor need not share files: its own transfer brings what the pilot needs. An ended
// job would leave the queue at once; leave_in_queue keeps it for kKept, so that queries see its
// end.
#include "pool/htcondor/htcondor.h"

#include <algorithm>

#include "base/units.h"
#include "pool/parts.h"
#include "pool/script.h"

namespace spate::pool {
namespace {

constexpr std::string_view kKept = "900";  // seconds
// The machine as the pool knows it, in the script.
constexpr std::string_view kHostLines =
    R"sh(spate_machine=$(sed -n 's/^Machine = "\(.*\)"$/\1/p' "$_CONDOR_MACHINE_AD" 2>/dev/null)
spate_host=${spate_machine:-$spate_host}
)sh";

constexpr std::string_view kTaken = "the pool sets it";
constexpr std::string_view kOneJob = "a pilot is one batch job";
constexpr std::string_view kStays = "the submit command must return at once, with an id";
// condor_submit takes options that are cut short, down to `least` letters.
struct RefusedWord {
  std::string_view name;
  size_t least;
  std::string_view why;
};
constexpr RefusedWord kRefusedWords[] = {
    {"batch-name", 1, kTaken}, {"terse", 3, kTaken},        {"verbose", 1, kTaken},
    {"queue", 1, kOneJob},     {"interactive", 1, kStays},  {"dry-run", 3, kStays},
    {"dump", 2, kStays},       {"spool", 1, kTaken},        {"remote", 1, kTaken},
    {"file", 2, kTaken},       {"help", 1, kStays},         {"factory", 2, kOneJob},
    {"generator", 1, kOneJob}, {"capabilities", 3, kStays},
};
constexpr std::string_view kRefusedLines[] = {
    "executable",
    "arguments",
    "args",
    "input",
    "output",
    "error",
    "stdout",
    "stderr",
    "batch_name",
    "transfer_executable",
    "transfer_input_files",
    "should_transfer_files",
    "initialdir",
    "+spatepilot",
    "my.spatepilot",
    "queue",
};

constexpr std::string_view kLimits[] = {"would exceed MAX_JOBS", "MAX_JOBS_SUBMITTED",
                                        "MAX_JOBS_PER_OWNER", "MAX_JOBS_PER_SUBMISSION"};
constexpr std::string_view kUnavailable[] = {
    "Failed to connect",
    "Can't find address of",
    "SECMAN:",
    "condor_schedd is not running",
    "Can't connect to",
    "Failed to fetch ads",
    "CEDAR:",
    "no record of schedd",
    "Failed to set up environment",
    "Failed to commit job submission",
};
constexpr std::string_view kPerhaps[] = {"Failed to commit job submission"};

// "12.0".
bool IsId(std::string_view id) {
  std::string_view cluster = NextField(id, '.');
  return IsDigits(cluster) && IsDigits(id);
}

// NAME=VALUE, as a line of a submit description has it: the name, in small letters. Else nothing.
std::string NameOfLine(std::string_view word) {
  size_t equals = word.find('=');
  if (equals == std::string_view::npos || word.starts_with('-')) return {};
  std::string name(Trimmed(word.substr(0, equals)));
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyz0123456789_.+";
  return name.find_first_not_of(kPlain) == std::string::npos ? name : "";
}

// A text that nothing expands in.
std::string Plain(std::string_view text) {
  std::string plain;
  for (char c : text) {
    if (c == '$') {
      plain += "$(DOLLAR)";
    } else {
      plain += c;
    }
  }
  return plain;
}

PilotState StateOf(std::string_view number) {
  if (number.size() != 1) return PilotState::kUnknown;
  switch (number[0]) {
    case '1':  // idle
      return PilotState::kQueued;
    case '2':
    case '3':  // removed, and not yet gone
    case '6':  // its output is on its way
    case '7':  // suspended
      return PilotState::kRunning;
    case '4':
      return PilotState::kEnded;
    case '5':
      return PilotState::kHeld;
    default:
      return PilotState::kUnknown;
  }
}

// A value as condor_q -af:V prints it: strings in quotes, with backslashes.
std::string Value(std::string_view text) {
  text = Trimmed(text);
  if (text == "undefined") return {};
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return std::string(text);
  text = text.substr(1, text.size() - 2);
  std::string value;
  for (size_t k = 0; k < text.size(); ++k) {
    bool escaped = text[k] == '\\' && k + 1 < text.size();
    if (escaped) ++k;
    value += escaped && (text[k] == 'n' || text[k] == 't') ? ' ' : text[k];
  }
  return value;
}

// Empty: it is not.
std::string_view WhyRefused(std::string_view word) {
  if (!word.starts_with('-')) return {};
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  word = word.substr(0, word.find(':'));
  for (const RefusedWord& refused : kRefusedWords) {
    if (word.size() >= refused.least && refused.name.starts_with(word)) return refused.why;
  }
  return {};
}

// The fault of a request_* line; empty: none. A name that stands for nothing would be taken, and no
// machine would ever match.
std::string WhyNoRequest(std::string_view line, std::span<const std::string> given) {
  std::string name = NameOfLine(line);
  if (!name.starts_with("request_")) return {};
  const std::string value(Trimmed(line.substr(line.find('=') + 1)));
  constexpr std::string_view kWords =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  const bool is_name = value.find_first_not_of(kWords) == std::string::npos && !value.empty() &&
                       (value.front() < '0' || value.front() > '9');
  if (value.empty()) return "a value is missing";
  if (value == "0" && name == "request_cpus") return "write 1 or more";
  if (!is_name || value == "undefined") return {};
  auto defines = [&value](const std::string& other) {
    std::string_view defined = std::string_view(other).substr(0, other.find('='));
    if (defined.starts_with('+')) defined.remove_prefix(1);
    if (defined.starts_with("MY.")) defined.remove_prefix(3);
    return Trimmed(defined) == value && other.contains('=');
  };
  if (std::ranges::any_of(given, defines)) return {};
  return "'" + EscapeForScreen(value) +
         "' is not a number, and no other line sets it, so no machine would match; write for "
         "example " +
         name + (name == "request_memory" || name == "request_disk" ? "=2GB" : "=4");
}

struct Options {
  std::vector<std::string> words;  // for condor_submit
  std::string lines;               // of the description
};

Result<Options> SortOptions(const std::vector<std::string>& given) {
  Options options;
  for (size_t k = 0; k < given.size(); ++k) {
    bool append = given[k] == "-a" || given[k] == "-append";
    if (append && k + 1 < given.size()) ++k;
    const std::string& word = given[k];
    std::string name = NameOfLine(word);
    if (name.empty()) {
      options.words.push_back(word);
      continue;
    }
    bool refused = std::ranges::find(kRefusedLines, name) != std::end(kRefusedLines);
    if (refused || word.find_first_of("\r\n") != std::string::npos) {
      return Fail(ErrorKind::kInvalid,
                  "htcondor: " + EscapeForScreen(word) + " cannot be given to a pool: " +
                      std::string(refused ? kTaken : "it is more than one line"));
    }
    if (std::string why = WhyNoRequest(word, given); !why.empty()) {
      return Fail(ErrorKind::kInvalid, "htcondor: " + EscapeForScreen(word) + ": " + why);
    }
    options.lines += word + "\n";
  }
  for (const std::string& word : options.words) {
    std::string_view why = WhyRefused(word);
    if (why.empty()) continue;
    return Fail(ErrorKind::kInvalid, "htcondor: option " + EscapeForScreen(word) +
                                         " cannot be given to a pool: " + std::string(why));
  }
  return options;
}

Status CheckPaths(const PilotSpec& spec) {
  auto invalid = [](std::string text) { return Fail(ErrorKind::kInvalid, std::move(text)); };
  if (spec.script_file.empty()) return invalid("htcondor needs the script as a file");
  std::vector<std::string> paths = spec.files;
  paths.push_back(spec.script_file);
  paths.push_back(spec.output_file);
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    // A backslash at the end joins lines; commas and quotes are of lists.
    if (path.find_first_of("\r\n,\"\\") != std::string::npos || !path.starts_with('/')) {
      return invalid("htcondor does not accept this path: " + EscapeForScreen(path));
    }
  }
  for (const std::string& path : spec.files) names.push_back(path.substr(path.rfind('/') + 1));
  std::ranges::sort(names);
  if (std::ranges::adjacent_find(names) != names.end()) {
    return invalid(
        "two files of a pilot have the same name, but htcondor copies both to one folder");
  }
  return {};
}

class HtCondor : public PoolDriver {
 public:
  explicit HtCondor(Tools tools) : tools_(std::move(tools)) {}

  Result<CommandLine> Submit(const PilotSpec& spec) const override {
    return SubmitCall(spec, Sends::kScript);
  }

  // "12.0 - 12.0", of -terse.
  Submitted ReadSubmit(const Outcome& outcome) const override {
    std::optional<std::string> id;
    std::string text = outcome.out + "\n";
    for (std::string_view line : WholeLines(text)) {
      std::string_view first = Trimmed(NextField(line, '-'));
      if (IsId(first) && Trimmed(line) == first) id = std::string(first);
    }
    return ReadId(submit(), outcome, id, {kLimits, kUnavailable, kPerhaps});
  }

  CommandLine Query(const PilotQuery& query) const override {
    CommandLine call;
    call.argv = {std::string(Or(tools_.query, "condor_q"))};
    Append(call.argv, tools_.everywhere);
    std::string prefix = ValidTag(query.prefix) ? query.prefix : "";
    std::vector<std::string> rest = {"-constraint", "regexp(\"^" + prefix + "\", SpatePilot)",
                                     "-af:tV",      "ClusterId",
                                     "ProcId",      "JobStatus",
                                     "SpatePilot",  "HoldReason"};
    Append(call.argv, rest);
    call.environment = {"LC_ALL=C"};
    return call;
  }

  Result<std::vector<ListedPilot>> ReadQuery(const PilotQuery& query,
                                             const Outcome& outcome) const override {
    // If one of several queues does not answer, some versions exit with 0.
    if (outcome.end != Outcome::End::kExited || outcome.exit_code != 0 ||
        ContainsAny(outcome.err, kUnavailable) || ContainsAny(outcome.out, kUnavailable)) {
      return Fail(ErrorKind::kUnavailable, Describe(Or(tools_.query, "condor_q"), outcome));
    }
    Listing listing(query);
    for (std::string_view line : WholeLines(outcome.out)) {
      if (line.starts_with('\t')) line.remove_prefix(1);
      ListedPilot pilot;
      std::string_view cluster = NextField(line, '\t'), process = NextField(line, '\t');
      std::string_view status = NextField(line, '\t');
      pilot.tag = Value(NextField(line, '\t'));
      pilot.id = std::string(Trimmed(cluster)) + "." + std::string(Trimmed(process));
      if (!IsId(pilot.id)) continue;
      pilot.state = StateOf(Trimmed(status));
      pilot.reason = Value(line);
      // A request that no machine can meet waits without a word.
      if (pilot.reason.empty() && pilot.state == PilotState::kQueued) {
        pilot.reason = "HTCondor reports none; to ask: condor_q -better-analyze " + pilot.id;
      }
      listing.Add(std::move(pilot));
    }
    return listing.Take();
  }

  CommandLine Cancel(std::span<const std::string> ids) const override {
    return CancelCall(Or(tools_.cancel, "condor_rm"), tools_.everywhere, ids, IsId);
  }

  // The description is read and made a job, which goes nowhere. The pool's folder may not be there
  // yet, so files are not looked for: -disable leaves out all but an executable that is
  // transferred.
  std::optional<CommandLine> Test(const PilotSpec& spec) const override {
    auto call = SubmitCall(spec, Sends::kNothing);
    if (!call) return std::nullopt;
    const std::string words[] = {"-disable", "-dry-run", "/dev/null"};
    call->argv.insert(call->argv.begin() + 1, std::begin(words), std::end(words));
    call->file.reset();
    // A line that it does not know is a warning to it.
    call->complaint = {"Is it a typo?",
                       "correct the line; an attribute of your own is written +NAME=VALUE"};
    return *call;
  }

 private:
  enum class Sends : uint8_t { kScript, kNothing };

  std::string submit() const { return std::string(Or(tools_.submit, "condor_submit")); }

  Result<CommandLine> SubmitCall(const PilotSpec& spec, Sends sends) const {
    TRY(CheckSpec(spec));
    TRY(CheckPaths(spec));
    if (spec.nodes > 1) {
      return Fail(
          ErrorKind::kInvalid,
          "htcondor allocates one host at a time; add more pilots instead of more nodes per pilot");
    }
    auto options = TRY(SortOptions(spec.options));
    CommandLine call;
    call.argv = {submit(), "-terse"};
    Append(call.argv, tools_.everywhere);
    Append(call.argv, options.words);
    call.argv.push_back("-");
    call.input = Description(spec, options.lines, sends);
    call.file = {spec.script_file, PilotScript(spec, {"htcondor", spec.time_limit, kHostLines})};
    return call;
  }

  static std::string Description(const PilotSpec& spec, const std::string& lines, Sends sends) {
    std::string text;
    auto set = [&text](std::string_view name, std::string_view value) {
      text.append(name).append(" = ").append(value).append("\n");
    };
    set("universe", "vanilla");
    set("executable", Plain(spec.script_file));
    set("transfer_executable", sends == Sends::kScript ? "true" : "false");
    set("should_transfer_files", spec.shared_files ? "IF_NEEDED" : "YES");
    set("when_to_transfer_output", "ON_EXIT");
    if (!spec.shared_files && !spec.files.empty()) {
      std::string files;
      for (const std::string& file : spec.files) files += (files.empty() ? "" : ", ") + Plain(file);
      set("transfer_input_files", files);
    }
    // Else all files that are new in a job's folder come into the user's home.
    set("transfer_output_files", "\"\"");
    set("output", Plain(spec.output_file));
    set("error", Plain(spec.output_file));
    set("notification", "never");
    set("batch_name", spec.tag);
    set("+SpatePilot", "\"" + spec.tag + "\"");
    set("leave_in_queue",
        "JobStatus == 4 && time() - EnteredCurrentStatus < " + std::string(kKept));
    if (spec.time_limit) set("allowed_job_duration", WholeSeconds(*spec.time_limit));
    if (!spec.avoid.empty()) {
      // A job that no other machine could run would wait forever.
      const std::string others = Joined(spec.avoid, "\" && TARGET.Machine != \"");
      set("requirements", "(TARGET.Machine != \"" + others + "\") || time() - QDate > 600");
    }
    return text + lines + "queue\n";
  }

  Tools tools_;
};

}  // namespace

std::unique_ptr<PoolDriver> MakeHtCondor(Tools tools) {
  return std::make_unique<HtCondor>(std::move(tools));
}

}  // namespace spate::pool
