// Placeholders in a command or in the name of a file, as GNU parallel has them
// (docs/formats/placeholders.md): {} {.} {..} {...} {/} {//} {/.} {/..} {/...} {%.suffix} {#} {%}
// {2} {-1} {2/.} {name} {name.}; and of Spate alone, in names of files, {job} {index} {rank}
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spate::format {

// The part of a value that a placeholder stands for.
enum class ValueForm : uint8_t {
  kWhole,         // {}
  kNoSuffix,      // {.}   without the last .suffix of the last part of the path
  kName,          // {/}   the last part of the path
  kFolder,        // {//}  what is before it ("." when nothing is)
  kNameNoSuffix,  // {/.}
  kWithoutText,   // {%.gz} without this text at its end
};
// How many suffixes {.} {..} {...} and {/.} {/..} {/...} take away: all of them or, where there are
// fewer, none.
struct ValuePart {
  ValueForm form = ValueForm::kWhole;
  uint8_t suffixes = 1;   // kNoSuffix, kNameNoSuffix
  std::string text = {};  // kWithoutText
};
void AppendPart(std::string_view value, const ValuePart& part, std::string& out);

struct Piece {
  enum class Kind : uint8_t {
    kText,    // literal, without blanks
    kBlanks,  // literal spaces, tabs and newlines
    kValue,
    kNumber,  // {#}, {index}
    kSlot,    // {%}
    kJob,     // {job}
    kRank,    // {rank}
  };
  Kind kind = Kind::kText;
  ValuePart part = {};
  int32_t position = 0;  // kValue: 0 all values, 1.. from the first one, -1.. from the last one
  std::string text;      // as written
  bool is_literal() const { return kind == Kind::kText || kind == Kind::kBlanks; }
};

// A parsed text. Braces that are no placeholder stay as they are, so every text has a parse.
class Template {
 public:
  struct Known {
    std::span<const std::string> names;  // of values 1, 2, ...; empty ones do not count
    bool job = false;                    // {job} and {index} are placeholders too
    std::string_view replace = {};       // what is written for {}, which then means nothing
    bool rank = false;                   // {rank} is a placeholder too
  };
  static Template Parse(std::string_view text, const Known& known);
  static Template Literal(std::string_view text);

  const std::vector<Piece>& pieces() const { return pieces_; }
  bool has_placeholder() const { return has_placeholder_; }
  // Some {}, {.}, {/}, {//} or {/.}: it stands for all values of the row.
  bool has_all_values() const { return has_all_values_; }
  bool has_blanks() const { return has_blanks_; }
  bool has_rank() const { return has_rank_; }
  // Some placeholder that is not {rank}: it may differ from task to task.
  bool differs_by_task() const { return differs_by_task_; }
  // The first placeholder of a value, as written; empty when there is none.
  std::string_view first_value() const { return first_value_; }

 private:
  void AddLiteral(std::string_view text);
  void AddBraces(std::string_view text, const Known& known);
  void Add(Piece piece);

  std::vector<Piece> pieces_;
  bool has_placeholder_ = false;
  bool has_all_values_ = false;
  bool has_blanks_ = false;
  bool has_rank_ = false;
  bool differs_by_task_ = false;
  std::string first_value_;
};

// Values of the placeholders.
struct Filling {
  std::span<const std::string_view> values;
  uint64_t number = 1;  // of the task, from 1
  uint32_t slot = 1;
  uint32_t job = 0;
  uint32_t rank = 0;
  bool quote = false;  // each value as one word of shell
  // -X: a group of text between blanks that holds {} is repeated for each value. Else {} alone
  // becomes all values, with blanks between.
  bool repeat = false;
};

// The text with its placeholders filled in.
void AppendText(const Template& source, const Filling& filling, std::string& out);

// The same for one word of an argv. Between values the word ends and a new one begins, but for a
// word that itself holds blanks: that is text of its own kind, and values in it get blanks.
void AppendWords(const Template& word, const Filling& filling, std::vector<std::string>& out);

}  // namespace spate::format
