#include "format/sources/csv.h"

#include <fmt/format.h>

#include "format/byte_order_mark.h"

namespace spate::format {
namespace {

class CsvReader {
 public:
  CsvReader(std::string_view text, char separator) : text_(text), separator_(separator) {}

  Result<std::vector<std::string>> Run() {
    while (at_ < text_.size()) {
      std::string record;
      while (true) {
        TRY(DecodeColumn(record));
        if (at_ == text_.size() || text_[at_] != separator_) break;
        ++at_;
        record += '\0';
      }
      SkipLineEnd();
      records_.push_back(std::move(record));
    }
    return std::move(records_);
  }

 private:
  // Leaves at_ at the separator, at the end of the line or of the text.
  Status DecodeColumn(std::string& record) {
    if (at_ < text_.size() && text_[at_] == '"') return TakeQuoted(record);
    size_t end = at_;
    while (end < text_.size() && text_[end] != separator_ && text_[end] != '\n') ++end;
    std::string_view column = text_.substr(at_, end - at_);
    bool line_ends = end == text_.size() || text_[end] == '\n';
    if (line_ends && column.ends_with('\r')) column.remove_suffix(1);
    at_ = end;
    return Append(column, record);
  }

  Status TakeQuoted(std::string& record) {
    uint64_t begun = line_;
    for (++at_;; at_ += 2) {
      size_t quote = text_.find('"', at_);
      if (quote == std::string_view::npos) {
        return Bad(begun, "a double quote is not closed: close it, or write it twice in quotes");
      }
      TRY(Append(text_.substr(at_, quote - at_), record));
      at_ = quote;
      if (!text_.substr(quote).starts_with("\"\"")) break;
      record += '"';
    }
    ++at_;
    std::string_view rest = text_.substr(at_);
    bool ends = rest.empty() || rest.front() == separator_ || rest.front() == '\n' ||
                rest.starts_with("\r\n") || rest == "\r";
    if (!ends) return Bad(line_, "something follows a closing double quote: remove it");
    return {};
  }

  Status Append(std::string_view bytes, std::string& record) {
    if (bytes.find('\0') != std::string_view::npos) {
      return Bad(line_, "there is a NUL byte, which is not allowed in values; remove it");
    }
    for (char c : bytes) line_ += c == '\n' ? 1 : 0;
    record += bytes;
    return {};
  }

  void SkipLineEnd() {
    if (text_.substr(at_).starts_with('\r')) ++at_;
    if (at_ < text_.size()) ++at_;
    ++line_;
  }

  static Status Bad(uint64_t line, std::string_view why) {
    return Fail(ErrorKind::kInvalid, fmt::format("line {}: {}", line, why));
  }

  std::string_view text_;
  const char separator_;
  size_t at_ = 0;
  uint64_t line_ = 1;
  std::vector<std::string> records_;
};

}  // namespace

Result<std::vector<std::string>> ParseCsv(std::string_view text, char separator) {
  return CsvReader(WithoutByteOrderMark(text), separator).Run();
}

}  // namespace spate::format
