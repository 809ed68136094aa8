// Line   = String Number Number Number "{" Check* "}," Number "{" Submission* "}," String
// Check  = "{" String String String "},"       Submission = "{" 18 fields "},"
// String = '"' bytes '",'                      Number     = as printf's %g or %d, then ","
// Within a string a double quote is doubled. Parasol writes it as it is, and cannot read its own
// file then; strings without one are the same here and there.

#include "doors/parasol/formats/batch.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/result.h"
#include "format/lines.h"

namespace spate::parasol {
namespace {

void AppendString(std::string_view text, std::string* out) {
  *out += '"';
  for (size_t quote; (quote = text.find('"')) != std::string_view::npos;) {
    out->append(text.substr(0, quote + 1)).append("\"");
    text.remove_prefix(quote + 1);
  }
  out->append(text).append("\",");
}

void AppendNumber(auto number, std::string* out) {
  std::array<char, 32> digits;
  char* end = digits.data() + digits.size();
  end = std::to_chars(digits.data(), end, number).ptr;
  out->append(digits.data(), end).append(",");
}
// Six digits, as %g has them.
void AppendNumber(double number, std::string* out) {
  std::array<char, 32> digits;
  char* end = digits.data() + digits.size();
  end = std::to_chars(digits.data(), end, number, std::chars_format::general, 6).ptr;
  out->append(digits.data(), end).append(",");
}
void AppendNumber(bool flag, std::string* out) { *out += flag ? "1," : "0,"; }

// Takes one line apart; after the first problem nothing more is read.
class Fields {
 public:
  explicit Fields(std::string_view line) : size_(line.size()), rest_(line) {}

  void Mark(char mark) {
    Blanks();
    if (rest_.empty() || rest_.front() != mark) return Spoil(fmt::format("no '{}'", mark));
    rest_.remove_prefix(1);
  }
  bool AtMark(char mark) {
    Blanks();
    return !rest_.empty() && rest_.front() == mark && !spoilt();
  }
  void Take(std::string* text) {
    Mark('"');
    text->clear();
    while (!spoilt()) {
      size_t quote = rest_.find('"');
      if (quote == std::string_view::npos) return Spoil("no closing double quote");
      text->append(rest_.substr(0, quote));
      rest_.remove_prefix(quote + 1);
      if (rest_.empty() || rest_.front() != '"') return Comma("a string");
      *text += '"';
      rest_.remove_prefix(1);
    }
  }
  template <typename T>
  void Take(T* number) {
    Blanks();
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *number);
    if (error != std::errc()) return Spoil("no number");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    Comma("a number");
  }
  void Take(bool* flag) {
    int32_t number = 0;
    Take(&number);
    *flag = number != 0;
  }
  // `count` and then as many elements in braces.
  template <typename T, typename TakeElement>
  void TakeList(std::vector<T>* list, TakeElement take) {
    uint64_t count = 0;
    Take(&count);
    Mark('{');
    while (AtMark('{')) {
      Mark('{');
      take(&list->emplace_back());
      CloseList();
    }
    CloseList();
    if (list->size() != count) Spoil(fmt::format("a list of {} that says {}", list->size(), count));
  }
  void End() {
    Blanks();
    if (!rest_.empty()) Spoil("more than a job");
  }
  void Spoil(std::string_view what) {
    if (!spoilt()) problem_ = fmt::format("{} at byte {}", what, size_ - rest_.size() + 1);
    rest_ = {};
  }
  bool spoilt() const { return !problem_.empty(); }
  const std::string& problem() const { return problem_; }

 private:
  void Blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) {
      rest_.remove_prefix(1);
    }
  }
  void CloseList() {
    Mark('}');
    Comma("a list");
  }
  void Comma(std::string_view after) {
    Blanks();
    if (rest_.empty() || rest_.front() != ',')
      return Spoil(fmt::format("no comma after {}", after));
    rest_.remove_prefix(1);
  }

  size_t size_;
  std::string_view rest_;
  std::string problem_;
};

void TakeCheck(Fields& fields, Check* check) {
  std::string when, kind;
  fields.Take(&when);
  fields.Take(&kind);
  fields.Take(&check->file);
  auto known_when = FromWord<CheckWhen>(when);
  auto known_kind = FromWord<CheckKind>(kind);
  if (!known_when || !known_kind) return fields.Spoil("a check that is not known");
  check->when = *known_when;
  check->kind = *known_kind;
}

// The numbers of a submission in the file's order; the same for reading and writing.
void ForEachNumber(auto& submission, auto number) {
  number(submission.cpu_seconds);
  number(submission.submitted);
  number(submission.started);
  number(submission.ended);
  number(submission.status);
  number(submission.got_status);
  number(submission.submit_error);
  number(submission.in_queue);
  number(submission.queue_error);
  number(submission.tracking_error);
  number(submission.running);
  number(submission.crashed);
  number(submission.slow);
  number(submission.hung);
  number(submission.ran_ok);
}

void TakeSubmission(Fields& fields, ParasolSubmission* submission) {
  fields.Take(&submission->id);
  fields.Take(&submission->host);
  ForEachNumber(*submission, [&](auto& number) { fields.Take(&number); });
  fields.Take(&submission->err_file);
}

Result<ParasolJob> ReadBatchLine(std::string_view line) {
  ParasolJob job;
  Fields fields(line);
  fields.Take(&job.command);
  fields.Take(&job.cpus);
  fields.Take(&job.ram);
  fields.TakeList(&job.checks, [&](Check* check) { TakeCheck(fields, check); });
  fields.TakeList(&job.submissions,
                  [&](ParasolSubmission* submission) { TakeSubmission(fields, submission); });
  fields.Take(&job.spec);
  fields.End();
  if (fields.spoilt()) return Fail(ErrorKind::kCorrupt, fields.problem());
  return job;
}

}  // namespace

void AppendBatchLine(const ParasolJob& job, std::string* out) {
  AppendString(job.command, out);
  AppendNumber(job.cpus, out);
  AppendNumber(job.ram, out);
  AppendNumber(job.checks.size(), out);
  *out += '{';
  for (const Check& check : job.checks) {
    *out += '{';
    AppendString(WordOf(check.when), out);
    AppendString(WordOf(check.kind), out);
    AppendString(check.file, out);
    *out += "},";
  }
  *out += "},";
  AppendNumber(job.submissions.size(), out);
  *out += '{';
  for (const ParasolSubmission& submission : job.submissions) {
    *out += '{';
    AppendString(submission.id, out);
    AppendString(submission.host, out);
    ForEachNumber(submission, [&](auto number) { AppendNumber(number, out); });
    AppendString(submission.err_file, out);
    *out += "},";
  }
  *out += "},";
  AppendString(job.spec, out);
  *out += '\n';
}

std::string WriteBatch(std::span<const ParasolJob> jobs) {
  std::string text;
  for (const ParasolJob& job : jobs) AppendBatchLine(job, &text);
  return text;
}

void BatchReader::Add(std::string_view lines) {
  size_t bytes = lines.size();
  bool first = line_ == 0;
  while (auto line = format::NextLine(&lines)) {
    ++line_;
    std::string_view trimmed = format::TrimBlanks(*line);
    if (trimmed.empty() || trimmed.front() == '#') continue;
    auto job = ReadBatchLine(trimmed);
    if (job) {
      result_.jobs.push_back(std::move(*job));
    } else {
      result_.damage.push_back(
          fmt::format("line {} of {} is not a valid job ({}): fix it, or make the "
                      "batch again with para create",
                      line_, name_, job.error().message));
    }
  }
  if (first) Reserve(bytes);
}

// By what the first piece was like, and a little more.
void BatchReader::Reserve(size_t lines_bytes) {
  if (bytes_ <= lines_bytes) return;
  auto pieces = static_cast<double>(bytes_) / static_cast<double>(lines_bytes);
  result_.jobs.reserve(
      static_cast<size_t>(static_cast<double>(result_.jobs.size()) * pieces * 1.05));
}

ReadBatchResult ReadBatch(std::string_view text, std::string_view name) {
  BatchReader reader{std::string(name)};
  reader.Add(text);
  return reader.Take();
}

}  // namespace spate::parasol
