// The catalogue of reasons (core/model/why.h): a row for each kind, with the names of its arguments
// and a template of its text, for all that show or send reasons. `spate __schema --json` prints it.
//
// Arguments are named in the order in which a Reason has them: numbers; times; names. One with
// "..." is all that remain of its sort. In a template,
//
//   {job}             is an argument: a number, a time, a name, or a list joined by commas
//   {tasks:count}     a number with separators; `size` of bytes, `cpus` of thousandths, `quoted`
//   for
//                     a shell, `owner` (user or group NAME), `nodes` (a list; "..." if `more` is 1)
//   {tasks:a task}    how many: "1 task", "3 tasks"
//   {*more|no|yes}    the text for number 0, 1, ...: the last is for all beyond; times are 0 or not
//   {=tasks|it|they}  the first text for 1, or a list of one; else the second
//   {@note||-|x*|X|?} the text behind the name's own; `*` ends a prefix; the last is for all others
//   {!job info job}   a command to type: the first two words are its own, others may be arguments
//   {&fates}          another template (ReasonParts)
//   {%troubles}       a text that is made by code (present/why.cc)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/why.h"

namespace spate::present {

struct ReasonRow {
  ReasonKind kind;
  std::string_view word;  // stable, for programs
  std::string_view arguments;
  std::string_view text;
};
// By kind.
std::span<const ReasonRow> Reasons();
// Null: a newer release has it.
const ReasonRow* FindReason(ReasonKind kind);

struct ReasonArgument {
  enum class Sort : uint8_t { kNumber, kTime, kName };
  std::string_view name;
  Sort sort = Sort::kName;
  size_t at = SIZE_MAX;  // in the Reason's numbers, times or names
  bool is_list = false;  // from there on
};
std::vector<ReasonArgument> ArgumentsOf(const ReasonRow& row);

// Templates that others have in common, by their names.
std::span<const std::pair<std::string_view, std::string_view>> ReasonParts();

}  // namespace spate::present
