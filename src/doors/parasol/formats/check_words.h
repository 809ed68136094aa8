// The words of a {check ...} clause, which the batch file keeps.
#pragma once

#include <optional>
#include <string_view>

#include "core/model/body.h"

namespace spate::parasol {

inline std::string_view CheckWhenName(CheckWhen when) {
  return when == CheckWhen::kIn ? "in" : "out";
}

inline std::optional<CheckWhen> CheckWhenOf(std::string_view word) {
  for (CheckWhen when : {CheckWhen::kIn, CheckWhen::kOut}) {
    if (word == CheckWhenName(when)) return when;
  }
  return std::nullopt;
}

inline std::optional<CheckKind> CheckKindOf(std::string_view word) {
  for (CheckKind kind :
       {CheckKind::kExists, CheckKind::kExistsPlus, CheckKind::kLine, CheckKind::kLinePlus}) {
    if (word == CheckKindName(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace spate::parasol
