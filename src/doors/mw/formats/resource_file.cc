// The reader is a table: one row for each key, with how its value is read. Whatever follows a value
// in its list is skipped, as CL-MW does.

#include "doors/mw/formats/resource_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.h"
#include "base/units.h"
#include "doors/mw/formats/lisp_text.h"

namespace spate::mw {
namespace {

using Kind = LispToken::Kind;

// Lisp's universal time counts seconds from 1900-01-01 00:00 UTC.
constexpr int64_t kUniversalOf1970 = 2'208'988'800;
constexpr std::string_view kRepair = "; correct it, or let the master write the file again";
constexpr size_t kShownBytes = 40;
constexpr std::string_view kInProgress = ":in-progress";
constexpr std::string_view kFinished = ":finished";
constexpr std::string_view kFailed = ":failed";

// One key and the tokens behind it. Each function reads a value, or says what it must be.
class Value {
 public:
  Value(LispTokens* tokens, std::string_view key) : tokens_(tokens), key_(key) {}

  Status ReadStatus(ResourceFile* file);
  Status ReadNumber(int64_t* number);
  Status ReadText(std::string* text);
  Status ReadWords(std::vector<std::string>* words);
  Status ReadProgram(std::string* path, std::vector<std::string>* libraries);

 private:
  Status ReadWordsAt(const LispToken& token, std::vector<std::string>* words);
  Status MustBe(const LispToken& token, std::string_view what) {
    return tokens_->Wrong(token.line, fmt::format("{} must be {}{}", key_, what, kRepair));
  }
  static bool IsNil(const LispToken& token) {
    return token.kind == Kind::kAtom && SameSymbol(token.text, "nil");
  }
  static std::unexpected<Error> Passed(Result<LispToken>& token) {
    return std::unexpected(std::move(token.error()));
  }

  LispTokens* tokens_;
  std::string_view key_;
};

Status Value::ReadStatus(ResourceFile* file) {
  auto token = tokens_->Next();
  if (!token) return Passed(token);
  auto is = [&](std::string_view status) {
    return token->kind == Kind::kAtom && SameSymbol(token->text, status);
  };
  file->failed = is(kFailed);
  file->finished = file->failed || is(kFinished);
  if (file->finished || is(kInProgress)) return {};
  return MustBe(*token, fmt::format("{}, {} or {}", kInProgress, kFinished, kFailed));
}

Status Value::ReadNumber(int64_t* number) {
  auto token = tokens_->Next();
  if (!token) return Passed(token);
  // Lisp may print a sign, and a dot behind what is decimal.
  std::string_view digits = token->text;
  if (digits.ends_with('.')) digits.remove_suffix(1);
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  auto read = spate::ReadNumber<int64_t>(digits);
  if (token->kind != Kind::kAtom || !read || *read < 0 || *read > kResourceNumberMax) {
    std::string found =
        token->kind == Kind::kAtom
            ? fmt::format(", not {}",
                          EscapeForScreen(std::string_view(token->text).substr(0, kShownBytes)))
            : "";
    return MustBe(*token, fmt::format("a whole number from 0 to {}{}", kResourceNumberMax, found));
  }
  *number = *read;
  return {};
}

Status Value::ReadText(std::string* text) {
  auto token = tokens_->Next();
  if (!token) return Passed(token);
  // The text found is not shown: it may be a secret without its quotes.
  if (token->kind != Kind::kString) return MustBe(*token, "a string in double quotes");
  *text = std::move(token->text);
  return {};
}

Status Value::ReadWordsAt(const LispToken& token, std::vector<std::string>* words) {
  words->clear();
  if (IsNil(token)) return {};
  if (token.kind != Kind::kOpen) return MustBe(token, "a list of strings, or NIL");
  while (true) {
    auto word = tokens_->Next();
    if (!word) return Passed(word);
    if (word->kind == Kind::kClose) return {};
    if (word->kind != Kind::kString) return MustBe(*word, "a list of strings in double quotes");
    if (words->size() == kResourceWordsMax) {
      return MustBe(*word, fmt::format("a list of at most {} strings", kResourceWordsMax));
    }
    words->push_back(std::move(word->text));
  }
}

Status Value::ReadWords(std::vector<std::string>* words) {
  auto token = tokens_->Next();
  if (!token) return Passed(token);
  return ReadWordsAt(*token, words);
}

Status Value::ReadProgram(std::string* path, std::vector<std::string>* libraries) {
  constexpr std::string_view kForm = "(\"PATH\" LIBRARIES), LIBRARIES a list of strings or NIL";
  path->clear();
  libraries->clear();
  auto token = tokens_->Next();
  if (!token) return Passed(token);
  if (IsNil(*token)) return {};
  if (token->kind != Kind::kOpen) return MustBe(*token, kForm);
  size_t outside = tokens_->depth() - 1;
  token = tokens_->Next();
  if (!token) return Passed(token);
  if (token->kind != Kind::kString) return MustBe(*token, kForm);
  *path = std::move(token->text);
  token = tokens_->Next();
  if (!token) return Passed(token);
  if (token->kind != Kind::kClose) {
    TRY(ReadWordsAt(*token, libraries));
  }
  return tokens_->SkipTo(outside);
}

Status ReadTimestamp(Value value, ResourceFile* file) {
  int64_t universal = 0;
  auto read = value.ReadNumber(&universal);
  if (read) file->timestamp = universal - kUniversalOf1970;
  return read;
}

struct Field {
  std::string_view key;
  Status (*read)(Value value, ResourceFile* file);
};
constexpr Field kFields[] = {
    {":computation-status", [](Value v, ResourceFile* f) { return v.ReadStatus(f); }},
    {":timestamp", ReadTimestamp},
    {":member-id", [](Value v, ResourceFile* f) { return v.ReadText(&f->member_id); }},
    {":update-interval",
     [](Value v, ResourceFile* f) { return v.ReadNumber(&f->update_interval); }},
    {":slaves-needed", [](Value v, ResourceFile* f) { return v.ReadNumber(&f->slaves_needed); }},
    {":slave-executable",
     [](Value v, ResourceFile* f) { return v.ReadProgram(&f->executable, &f->libraries); }},
    {":slave-arguments", [](Value v, ResourceFile* f) { return v.ReadWords(&f->slave_arguments); }},
    {":spate-access", [](Value v, ResourceFile* f) { return v.ReadText(&f->access); }},
};

// Reads the rest of an outermost list, after its (.
Status ReadForm(LispTokens* tokens, ResourceFile* file) {
  auto key = TRY(tokens->Next());
  const auto* field =
      key.kind == Kind::kAtom
          ? std::ranges::find_if(
                kFields, [&](const Field& known) { return SameSymbol(known.key, key.text); })
          : std::end(kFields);
  if (field != std::end(kFields)) {
    TRY(field->read(Value(tokens, field->key), file));
  }
  return tokens->SkipTo(0);
}

int64_t Bounded(int64_t number) { return std::clamp<int64_t>(number, 0, kResourceNumberMax); }

std::string LispStrings(const std::vector<std::string>& words) {
  std::string list = "(";
  for (const std::string& word : words) {
    if (list.size() > 1) list += ' ';
    list += LispString(word);
  }
  return list + ')';
}

}  // namespace

std::vector<std::string> SlaveArguments(std::string_view host, uint16_t port) {
  return {"--mw-slave", "--mw-master-host", std::string(host), "--mw-master-port",
          fmt::format("{}", port)};
}

std::optional<std::string_view> SlaveArgument(const ResourceFile& file, std::string_view option) {
  const auto& arguments = file.slave_arguments;
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (SameSymbol(arguments[i], option)) return arguments[i + 1];
  }
  return std::nullopt;
}

std::string WriteResourceFile(const ResourceFile& file) {
  // Saturated before it is shifted: the sum of any two numbers need not fit.
  int64_t universal =
      std::clamp(file.timestamp, -kUniversalOf1970, kResourceNumberMax - kUniversalOf1970) +
      kUniversalOf1970;
  std::string text = fmt::format(
      ";; Status of the computation\n(:computation-status {})\n"
      ";; Time Stamp of Resource File\n(:timestamp {})\n"
      ";; Member ID\n(:member-id {})\n"
      ";; Update Interval (sec) of Resource File\n(:update-interval {})\n"
      ";; Slaves Needed\n(:slaves-needed {})\n"
      ";; Slave Executable and Shared Libs\n(:slave-executable ({} {}))\n"
      ";; Slave Arguments\n(:slave-arguments {})\n",
      file.failed     ? kFailed
      : file.finished ? kFinished
                      : kInProgress,
      universal, LispString(file.member_id), Bounded(file.update_interval),
      Bounded(file.slaves_needed), LispString(file.executable),
      file.libraries.empty() ? "NIL" : LispStrings(file.libraries),
      LispStrings(file.slave_arguments));
  if (!file.access.empty()) {
    text +=
        fmt::format(";; Access for Slaves of Spate\n(:spate-access {})\n", LispString(file.access));
  }
  return text;
}

Result<ResourceFile> ReadResourceFile(std::string_view text, std::string_view path,
                                      ResourceFile defaults) {
  LispTokens tokens(text, path);
  if (text.size() > kResourceFileBytesMax) {
    return tokens.Wrong(
        1, fmt::format(
               "the file has more than {}, so it is not a resource file of CL-MW: name another one",
               FormatSize(kResourceFileBytesMax)));
  }
  ResourceFile file = std::move(defaults);
  while (true) {
    auto token = TRY(tokens.Next());
    if (token.kind == Kind::kEnd) return file;
    if (token.kind != Kind::kOpen) continue;
    TRY(ReadForm(&tokens, &file));
  }
}

}  // namespace spate::mw
