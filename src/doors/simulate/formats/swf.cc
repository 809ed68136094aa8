#include "doors/simulate/formats/swf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number.h"
#include "base/units.h"
#include "format/byte_order_mark.h"
#include "format/lines.h"

namespace spate::format {
namespace {

constexpr size_t kFields = 18;
constexpr size_t kToldBroken = 3;   // so many are shown
constexpr size_t kToldBytes = 200;  // of a text of the header
constexpr size_t kToldOdd = 5;      // headers that are not as expected
constexpr size_t kShownBytes = 60;  // of such a header

// Most are whole numbers; some traces have seconds with decimals, of which the rest is cut.
std::optional<int64_t> FieldOf(std::string_view word) {
  if (auto whole = ReadNumber<int64_t>(word)) {
    return *whole >= -kSwfNumber && *whole <= kSwfNumber ? whole : std::nullopt;
  }
  auto number = ReadNumber<double>(word);
  if (!number || !(std::abs(*number) <= static_cast<double>(kSwfNumber))) return std::nullopt;
  return static_cast<int64_t>(*number);
}

// The text after "NAME:" in a comment, or nothing.
std::optional<std::string_view> HeaderOf(std::string_view comment, std::string_view name) {
  if (!comment.starts_with(name)) return std::nullopt;
  comment.remove_prefix(name.size());
  if (!comment.starts_with(':')) return std::nullopt;
  return TrimBlanks(comment.substr(1));
}

// The first word of a text that begins with a number.
std::string_view NumberWord(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t(;"));
}

// True if the comment looks like this header, but is written in another way: in other letters, with
// a blank within or without its colon.
bool Resembles(std::string_view comment, std::string_view name) {
  std::string letters;
  for (char c : comment.substr(0, comment.find_first_of(":=0123456789"))) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (c != ' ' && c != '\t' && c != '_') letters += upper ? static_cast<char>(c + 'a' - 'A') : c;
  }
  std::string wanted(name);
  for (char& c : wanted) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c;
  return letters == wanted || letters + "s" == wanted;
}

// The number that the text begins with: "128 (64 of them large)", "128,000". What begins with a
// number and goes on as something else ("12.5", "128k") is none.
std::optional<uint32_t> CountOf(std::string_view text) {
  const std::string_view word = NumberWord(text);
  if (word.empty() || word.front() == ',' || word.back() == ',') return std::nullopt;
  std::string digits;
  for (size_t i = 0; i < word.size(); ++i) {
    // Commas stand before each three digits, counted from the end.
    const bool here = (word.size() - i) % 4 == 0;
    if (word[i] != ',') {
      digits += word[i];
    } else if (!here) {
      return std::nullopt;
    }
  }
  const size_t commas = word.size() - digits.size();
  if (commas > 0 && commas != (digits.size() - 1) / 3) return std::nullopt;
  auto number = ReadNumber<uint32_t>(digits);
  return number && *number > 0 && *number <= kSwfProcessors ? number : std::nullopt;
}

}  // namespace

Status SwfReader::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    size_t end = bytes.find('\n');
    std::string_view piece = bytes.substr(0, end);
    if (rest_.size() + piece.size() > kSwfLine) {
      return Fail(
          ErrorKind::kInvalid,
          fmt::format(
              "line {} has more than {} bytes: this is not a trace in the Standard Workload Format",
              line_ + 1, kSwfLine));
    }
    if (end == std::string_view::npos) {
      rest_ += piece;
      return {};
    }
    bytes.remove_prefix(end + 1);
    if (!rest_.empty()) rest_ += piece;
    auto taken = AcceptLine(rest_.empty() ? piece : std::string_view(rest_));
    rest_.clear();
    if (!taken) return taken;
  }
  return {};
}

Result<SwfTrace> SwfReader::Finish() {
  if (!rest_.empty()) {
    TRY(AcceptLine(rest_));
    rest_.clear();
  }
  return std::move(trace_);
}

Status SwfReader::AcceptLine(std::string_view line) {
  if (++line_ == 1) line = WithoutByteOrderMark(line);
  line = TrimBlanks(line);
  if (line.empty()) return {};
  if (!line.starts_with(';')) return AcceptJob(line);
  AcceptComment(TrimBlanks(line.substr(1)));
  return {};
}

void SwfReader::NoteOdd(std::string_view header, std::string_view what) {
  if (trace_.header.odd.size() == kToldOdd) return;
  const bool cut = header.size() > kShownBytes;
  trace_.header.odd.push_back(fmt::format("line {}: '{}{}': {}", line_,
                                          EscapeForScreen(header.substr(0, kShownBytes)),
                                          cut ? "..." : "", what));
}

// The first of two equal headers that has a number counts.
void SwfReader::AcceptCount(std::string_view comment, std::string_view name,
                            std::optional<uint32_t>& count, uint64_t& line) {
  auto text = HeaderOf(comment, name);
  if (!text) {
    if (!Resembles(comment, name)) return;
    return NoteOdd(comment, fmt::format("expected '{}: N'; not used", name));
  }
  const auto number = CountOf(*text);
  if (!number) {
    return NoteOdd(comment, fmt::format("expected a whole number from 1 to {}, as in '{}: 128'; "
                                        "not used",
                                        FormatCount(kSwfProcessors), name));
  }
  if (count) {
    if (*number == *count) return;
    return NoteOdd(comment, fmt::format("expected once, and line {} has it; {} from there is used",
                                        line, FormatCount(*count)));
  }
  count = number;
  line = line_;
  if (NumberWord(*text) == *text) return;
  NoteOdd(comment, fmt::format("expected a number alone; {} is used", FormatCount(*number)));
}

void SwfReader::AcceptComment(std::string_view comment) {
  SwfHeader& header = trace_.header;
  AcceptCount(comment, "MaxProcs", header.max_procs, procs_line_);
  AcceptCount(comment, "MaxNodes", header.max_nodes, nodes_line_);
  auto keep = [&](std::string_view name, std::string& target) {
    auto text = HeaderOf(comment, name);
    if (text && target.empty()) target = text->substr(0, kToldBytes);
  };
  keep("Computer", header.computer);
  keep("Installation", header.installation);
  keep("Acknowledge", header.acknowledge);
}

void SwfReader::Break(std::string why) {
  if (trace_.broken.size() < kToldBroken) trace_.broken.push_back({line_, std::move(why)});
  ++trace_.broken_lines;
}

Status SwfReader::AcceptJob(std::string_view line) {
  std::array<int64_t, kFields> fields{};
  size_t count = 0;
  for (std::string_view word = NextWord(&line); !word.empty(); word = NextWord(&line), ++count) {
    if (count >= kFields) continue;
    auto field = FieldOf(word);
    if (!field) {
      Break(fmt::format("field {} is not a number, or is too large: {}", count + 1,
                        EscapeForScreen(word.substr(0, 40))));
      return {};
    }
    fields[count] = *field;
  }
  if (count != kFields) {
    Break(fmt::format("there are {} fields, not {}", count, kFields));
    return {};
  }
  if (trace_.jobs.size() >= kSwfJobs) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("line {}: more than {} jobs; simulate a part of the trace", line_,
                            FormatCount(kSwfJobs)));
  }
  trace_.jobs.push_back({.number = fields[0],
                         .submit = fields[1],
                         .run = fields[3],
                         .allocated = fields[4],
                         .requested = fields[7],
                         .estimate = fields[8],
                         .user = fields[11]});
  return {};
}

std::string_view SwfDropText(SwfDrop why) {
  switch (why) {
    case SwfDrop::kTooLarge:
      return "larger than the machine";
    case SwfDrop::kNoProcessors:
      return "without processors";
    case SwfDrop::kNoRunTime:
      return "without a run time";
    case SwfDrop::kNoSubmit:
      return "without a time of submission";
    case SwfDrop::kNoEstimate:
      return "without an estimate";
  }
  return "";
}

namespace {

std::unexpected<Error> Broken(const SwfTrace& trace) {
  std::string text;
  for (const SwfBroken& broken : trace.broken) {
    text += fmt::format("line {}: {}\n", broken.line, broken.why);
  }
  if (trace.broken_lines > trace.broken.size()) {
    text += fmt::format("and {} more\n", FormatCount(trace.broken_lines - trace.broken.size()));
  }
  return Fail(ErrorKind::kInvalid,
              text + "fix or remove the broken lines, or skip them with --filter loose");
}

std::unexpected<Error> NoProcessors(const SwfHeader& header) {
  std::string text =
      "no header states the machine's number of processors; add a line `; MaxProcs: N`, or --procs "
      "N";
  if (header.max_nodes) {
    text += fmt::format(" (MaxNodes is {}, but nodes may have several)", *header.max_nodes);
  }
  for (const std::string& odd : header.odd) text += "\n" + odd;
  return Fail(ErrorKind::kInvalid, text);
}

std::optional<SwfDrop> DropOf(const SwfJob& job, uint32_t processors, SwfFilter filter) {
  if (job.allocated > processors || job.requested > processors) return SwfDrop::kTooLarge;
  if (job.requested <= 0 && job.allocated <= 0) return SwfDrop::kNoProcessors;
  if (job.run <= 0) return SwfDrop::kNoRunTime;
  if (job.submit < 0) return SwfDrop::kNoSubmit;
  if (job.estimate <= 0 && filter == SwfFilter::kStudy) return SwfDrop::kNoEstimate;
  return std::nullopt;
}

RigidJob RigidOf(const SwfJob& job) {
  const int64_t estimate = job.estimate > 0 ? job.estimate : job.run;
  const int64_t processors = job.requested > 0 ? job.requested : job.allocated;
  return {.number = job.number,
          .submit = job.submit,
          .run = std::min(job.run, estimate),
          .processors = static_cast<uint32_t>(processors),
          .estimate = estimate,
          .user = job.user};
}

}  // namespace

Result<Workload> WorkloadOf(const SwfTrace& trace, SwfFilter filter) {
  if (filter == SwfFilter::kStudy && trace.broken_lines > 0) return Broken(trace);
  if (!trace.header.max_procs) return NoProcessors(trace.header);
  Workload workload{.processors = *trace.header.max_procs, .jobs = {}};
  workload.jobs.reserve(trace.jobs.size());
  for (const SwfJob& job : trace.jobs) {
    if (auto why = DropOf(job, workload.processors, filter)) {
      ++workload.dropped[static_cast<size_t>(*why)];
    } else {
      workload.jobs.push_back(RigidOf(job));
    }
  }
  if (workload.jobs.empty()) return Fail(ErrorKind::kInvalid, "the trace has no job that can run");
  return workload;
}

}  // namespace spate::format
