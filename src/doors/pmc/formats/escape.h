// Bytes that may break a line of a record become %XX, as in URLs: control bytes, and those of
// `special`. A '%' stays as it is: these texts are for looking at, and nobody reads them back.
#pragma once

#include <string>
#include <string_view>

namespace spate::pmc {

std::string Escape(std::string_view text, std::string_view special = {});

}  // namespace spate::pmc
