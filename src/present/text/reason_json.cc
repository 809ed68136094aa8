#include "present/text/reason_json.h"

#include <algorithm>
#include <string>
#include <vector>

#include "present/reasons.h"

namespace spate::present {
namespace {

template <typename T>
void Add(JsonLine& line, const ReasonArgument& argument, const std::vector<T>& values) {
  const auto first =
      values.begin() + static_cast<std::ptrdiff_t>(std::min(argument.at, values.size()));
  if (!argument.is_list)
    return AddFields(line, argument.name, first == values.end() ? T() : *first);
  AddFields(line, argument.name, std::vector<T>(first, values.end()));
}

Json JsonOfReason(const Reason& reason, const ReasonRow& row) {
  JsonLine line;
  AddFields(line, "kind", row.word);
  for (const ReasonArgument& argument : ArgumentsOf(row)) {
    switch (argument.sort) {
      case ReasonArgument::Sort::kNumber:
        Add(line, argument, reason.numbers);
        break;
      case ReasonArgument::Sort::kTime:
        Add(line, argument, reason.times);
        break;
      case ReasonArgument::Sort::kName:
        Add(line, argument, reason.names);
        break;
    }
  }
  return {line.Object()};
}

}  // namespace

Json ReasonsJson(const Why& why) {
  std::vector<const Reason*> known;
  for (const Reason& reason : why) {
    if (reason.kind != ReasonKind::kNext && FindReason(reason.kind)) known.push_back(&reason);
  }
  return ListOf(
      known, [](const Reason* reason) { return JsonOfReason(*reason, *FindReason(reason->kind)); });
}

}  // namespace spate::present
