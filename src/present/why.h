// The text of reasons (core/model/why.h).
#pragma once

#include <string>
#include <string_view>

#include "core/model/why.h"

namespace spate::present {

// One sentence or several for a screen, without a period at the end; empty when there is no reason.
// `reach` as in present/advice.h. Arguments that are missing, as in a damaged message, read as 0 or
// nothing.
std::string TextOf(const Why& why, std::string_view reach = {});

}  // namespace spate::present
