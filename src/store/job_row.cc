#include "store/job_row.h"

#include <algorithm>

#include "os/file.h"

namespace spate::store {

std::string NameOf(const JobRow& row) {
  if (!row.name.empty()) return row.name;
  std::string name;
  for (const std::string& file : row.files) {
    name += (name.empty() ? "" : " ") + (file == "-" ? file : os::BaseName(file));
  }
  if (!name.empty()) return name;
  auto word = std::ranges::find(row.argv, "--");
  for (auto at = word; at != row.argv.end(); ++at) {
    if (at != word) name += (name.empty() ? "" : " ") + *at;
  }
  return name;
}

}  // namespace spate::store
