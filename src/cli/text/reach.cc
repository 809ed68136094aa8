#include "cli/text/reach.h"

#include <algorithm>

namespace spate::cli {

std::string_view ReachOfHub(std::string_view reach) {
  constexpr std::string_view kSwitch = " --hub";
  if (reach.starts_with(" --hub ") || reach == kSwitch) reach.remove_prefix(kSwitch.size());
  return reach;
}

std::string Reaching(std::string text, std::string_view reach) {
  if (reach.empty()) return text;
  for (std::string_view before :
       {"spate job ", "spate node ", "spate pool ", "spate hub access "}) {
    std::string_view added = before == "spate job " ? reach : ReachOfHub(reach);
    for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
      at += before.size();
      size_t end = std::min(text.find_first_of(" ;,\n", at), text.size());
      text.insert(end, added);
      at = end + added.size();
    }
  }
  return text;
}

}  // namespace spate::cli
