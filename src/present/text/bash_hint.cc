#include "present/text/bash_hint.h"

#include <algorithm>

namespace spate::present {
namespace {

constexpr std::string_view kComplaints[] = {
    "[[: not found",
    "Bad substitution",
    "source: not found",
    "declare: not found",
    "function: not found",
    "shopt: not found",
    "pushd: not found",
    "popd: not found",
    "let: not found",
    "mapfile: not found",
    "readarray: not found",
    "Bad for loop variable",
    "Illegal option -o pipefail",
    "Syntax error: \"(\" unexpected",
    "Syntax error: redirection unexpected",
};

}  // namespace

std::string BashInErrors(std::string_view errors) {
  while (!errors.empty()) {
    std::string_view line = errors.substr(0, errors.find('\n'));
    errors.remove_prefix(std::min(line.size() + 1, errors.size()));
    if (!line.starts_with("/bin/sh: ") && !line.starts_with("sh: ")) continue;
    for (std::string_view complaint : kComplaints) {
      if (line.find(complaint) != std::string_view::npos) return std::string(complaint);
    }
  }
  return {};
}

}  // namespace spate::present
