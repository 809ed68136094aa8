// Commands that people are told to type, made to mean the hub that they speak to.
#pragma once

#include <string>
#include <string_view>

namespace spate::cli {

// `text` with `reach` (" --access FILE", or nothing) behind each "spate job WORD", "spate node
// WORD" and "spate hub access WORD" in it.
std::string Reaching(std::string text, std::string_view reach);

}  // namespace spate::cli
