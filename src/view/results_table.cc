#include "view/results_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/model/ranges.h"
#include "os/file.h"
#include "os/own_dir.h"
#include "present/json/json_line.h"
#include "view/joblog.h"
#include "view/output_pieces.h"

namespace spate::cli {
namespace {

constexpr size_t kTablePiece = 256 * 1024;
constexpr std::string_view kJsonStart = "{ \"Seq\": ";

// Walks over the rows of a table. A row ends at a newline outside of quotes; in JSON there is none
// inside.
class TableReader {
 public:
  TableReader(bool json, std::vector<bool>& there) : json_(json), there_(there) {}
  void Feed(std::string_view piece) {
    for (char c : piece) {
      ++at_;
      if (head_.size() < 32) head_ += c;
      if (c == '"' && !json_) quoted_ = !quoted_;
      if (c != '\n' || quoted_) continue;
      Note();
      head_.clear();
      whole_ = at_;
    }
  }
  uint64_t whole() const { return whole_; }  // bytes of whole rows

 private:
  void Note() {
    std::string_view text = head_;
    if (json_ && text.starts_with(kJsonStart)) text.remove_prefix(kJsonStart.size());
    uint32_t seq = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seq);
    if (error == std::errc() && seq > 0 && seq <= there_.size()) there_[seq - 1] = true;
  }

  const bool json_;
  std::vector<bool>& there_;
  std::string head_;  // the first bytes of the row
  bool quoted_ = false;
  uint64_t at_ = 0;
  uint64_t whole_ = 0;
};

// Reads the whole file; returns how many bytes of it are whole rows.
Result<uint64_t> ReadRows(const std::string& path, std::vector<bool>& there) {
  auto file = TRY(os::OpenRead(path));
  TableReader reader(TableFormOf(path) == TableForm::kJson, there);
  for (uint64_t offset = 0;;) {
    auto piece = TRY(os::ReadAt(file.get(), offset, kTablePiece, path));
    if (piece.empty()) return reader.whole();
    offset += piece.size();
    reader.Feed(piece);
  }
}

void AppendCell(std::string_view value, char separator, std::string& row) {
  bool quotes = value.find_first_of("\"\n\r") != std::string_view::npos ||
                value.find(separator) != std::string_view::npos;
  if (!quotes) {
    row += value;
    return;
  }
  row += '"';
  for (char c : value) row.append(c == '"' ? 2 : 1, c);
  row += '"';
}

}  // namespace

std::optional<TableForm> TableFormOf(std::string_view name) {
  if (name.ends_with(".csv")) return TableForm::kCsv;
  if (name.ends_with(".tsv")) return TableForm::kTsv;
  if (name.ends_with(".json")) return TableForm::kJson;
  return std::nullopt;
}

Result<std::vector<TaskRange>> MissingInTable(const std::string& path,
                                              const std::vector<TaskRange>& ended) {
  std::vector<bool> there(ended.empty() ? 0 : ended.back().first + ended.back().count);
  if (os::Exists(path)) {
    auto whole = TRY(ReadRows(path, there));
    auto file = TRY(os::OpenNamed(path, os::OpenHow::kReadWrite));
    TRY(os::Truncate(file.get(), whole, path));
  }
  std::vector<TaskRange> missing;
  for (const TaskRange& range : ended) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      if (there[i]) continue;
      AppendIndex(missing, i);
    }
  }
  return missing;
}

Result<std::unique_ptr<ResultsTable>> ResultsTable::Open(
    std::string path, bool append, ViewTexts texts, std::function<void(const Error&)> on_broken) {
  auto file = os::OpenNamed(path, append ? os::OpenHow::kAppend : os::OpenHow::kEmptied);
  if (!file) return Within("--results", file.error());
  auto info = os::StatFd(file->get(), path);
  std::unique_ptr<ResultsTable> table(new ResultsTable);
  table->fresh_ = !info || info->size == 0;
  table->form_ = TableFormOf(path).value_or(TableForm::kCsv);
  table->path_ = std::move(path);
  table->file_ = std::move(*file);
  table->texts_ = std::move(texts);
  table->on_broken_ = std::move(on_broken);
  return table;
}

Status ResultsTable::Flush(size_t most) {
  if (row_.size() <= most) return {};
  return os::WriteAll(file_.get(), std::exchange(row_, {}), path_);
}

// The field of a JSON object: `key`, or `key`_base64 where the bytes are no UTF-8, as everywhere in
// our JSON.
Status ResultsTable::WriteField(std::string_view key, const OutputStream* stream) {
  present::Utf8Check check;
  if (stream != nullptr && stream->total > 0) {
    auto read = ForEachPiece(*stream, 0, [&](std::string_view piece) { check.Feed(piece); });
    if (!read) return read;
  }
  if (check.valid()) {
    row_ += fmt::format("\"{}\": ", key);
    return WriteStream(stream);
  }
  row_ += fmt::format("\"{}_base64\": \"", key);
  present::Base64 encoder;
  Status written;
  auto read = ForEachPiece(*stream, 0, [&](std::string_view piece) {
    row_ += encoder.Feed(piece);
    if (written) written = Flush(kPiece);
  });
  row_ += encoder.Finish() + '"';
  return written ? read : written;
}

// Long output never lies in memory as a whole.
Status ResultsTable::WriteStream(const OutputStream* stream) {
  if (stream == nullptr || stream->total == 0) {
    if (form_ == TableForm::kJson) row_ += "\"\"";
    return {};
  }
  if (form_ != TableForm::kJson && stream->spool.empty()) {
    AppendCell(stream->bytes, form_ == TableForm::kTsv ? '\t' : ',', row_);
    return {};
  }
  Status written;
  row_ += '"';
  auto read = ForEachPiece(*stream, 0, [&](std::string_view piece) {
    if (form_ == TableForm::kJson) {
      row_ += present::JsonEscaped(piece);
    } else {
      for (char c : piece) row_.append(c == '"' ? 2 : 1, c);
    }
    if (written) written = Flush(kTablePiece);
  });
  row_ += '"';
  return written ? read : written;
}

Status ResultsTable::WriteCells(const TaskEnded& ended) {
  char separator = form_ == TableForm::kTsv ? '\t' : ',';
  TaskIndex index = ended.end.ref.index;
  std::vector<std::string> values = texts_.values(index);
  std::vector<std::string> cells;
  if (std::exchange(fresh_, false)) {
    cells = {"Seq",     "Host",    "Starttime", "JobRuntime", "Send",
             "Receive", "Exitval", "Signal",    "Command"};
    for (size_t i = 1; i <= values.size(); ++i) cells.push_back(fmt::format("V{}", i));
    cells.insert(cells.end(), {"Stdout", "Stderr"});
    row_ += fmt::format("{}\n", fmt::join(cells, std::string(1, separator)));
  }
  auto [exit, signal] = JoblogStatus(ended.end);
  cells = {std::to_string(index + 1),
           ":",
           fmt::format("{:.3f}", ended.end.start.seconds()),
           fmt::format("{:.3f}", static_cast<double>(ended.end.wall.millis()) / 1000),
           "0",
           std::to_string(ended.end.stdout_total),
           std::to_string(exit),
           std::to_string(signal),
           texts_.command(index)};
  cells.insert(cells.end(), values.begin(), values.end());
  for (const std::string& cell : cells) {
    AppendCell(cell, separator, row_);
    row_ += separator;
  }
  const TaskOutput* output = ended.output.get();
  TRY(WriteStream(output ? &output->out : nullptr));
  row_ += separator;
  return WriteStream(output ? &output->err : nullptr);
}

Status ResultsTable::WriteObject(const TaskEnded& ended) {
  TaskIndex index = ended.end.ref.index;
  auto [exit, signal] = JoblogStatus(ended.end);
  const std::string command = texts_.command(index);
  const std::vector<std::string> values = texts_.values(index);
  const bool are_texts = std::ranges::all_of(values, present::IsUtf8);
  std::string list;
  for (const std::string& value : values) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ",",
                        are_texts ? present::JsonEscaped(value) : present::ToBase64(value));
  }
  const bool is_text = present::IsUtf8(command);
  row_ += fmt::format(
      "{}{}, \"Host\": \":\", \"Starttime\": {:.3f}, \"JobRuntime\": {:.3f}, \"Send\": 0, "
      "\"Receive\": {}, \"Exitval\": {}, \"Signal\": {}, \"Command{}\": \"{}\", \"V{}\": [ {} ], ",
      kJsonStart, index + 1, ended.end.start.seconds(),
      static_cast<double>(ended.end.wall.millis()) / 1000, ended.end.stdout_total, exit, signal,
      is_text ? "" : "_base64",
      is_text ? present::JsonEscaped(command) : present::ToBase64(command),
      are_texts ? "" : "_base64", list);
  const TaskOutput* output = ended.output.get();
  TRY(WriteField("Stdout", output ? &output->out : nullptr));
  row_ += ", ";
  TRY(WriteField("Stderr", output ? &output->err : nullptr));
  row_ += " }";
  return {};
}

Status ResultsTable::WriteRow(const TaskEnded& ended) {
  auto ok = form_ == TableForm::kJson ? WriteObject(ended) : WriteCells(ended);
  if (!ok) return ok;
  row_ += '\n';
  return Flush(0);
}

void ResultsTable::OnEnded(const TaskEnded& ended) {
  if (broken_ || !EndsTask(ended.verdict)) return;
  auto ok = WriteRow(ended);
  if (ok) return;
  broken_ = true;
  if (on_broken_) on_broken_(Within("--results", ok.error()).error());
}

}  // namespace spate::cli
