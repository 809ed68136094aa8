// Commands that people are told to type, made to mean the hub that they speak to.
#pragma once

#include <string>
#include <string_view>

namespace spate::cli {

// What the commands take that are always about a hub: `reach` without --hub.
std::string_view ReachOfHub(std::string_view reach);

// `text` with `reach` (" --access FILE", or nothing) behind each "spate job WORD", "spate node
// WORD", "spate pool WORD" and "spate hub access WORD" in it, as each of them takes it.
std::string Reaching(std::string text, std::string_view reach);

}  // namespace spate::cli
