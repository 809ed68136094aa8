#include "cli/options/list_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/units.h"

namespace spate::cli {
namespace {

namespace fs = std::filesystem;

bool IsProgram(std::string_view name, std::string_view path) {
  std::error_code error;
  if (name.empty() || name.find('/') != std::string_view::npos) return false;
  while (!path.empty()) {
    size_t end = std::min(path.find(':'), path.size());
    fs::path file = fs::path(path.substr(0, end)) / name;
    auto status = fs::status(file, error);
    bool executable = (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
    if (!error && fs::is_regular_file(status) && executable) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

std::unexpected<Error> Missing(const std::string& file, bool first, std::string_view path) {
  std::string shown = EscapeForScreen(file);
  bool blanks = file.find_first_of(" \t") != std::string::npos;
  if (first && (blanks || IsProgram(file, path))) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format(
            "{}: no such job list; to run a command, write -- before it: spate run -- {} ...",
            shown, shown));
  }
  return Fail(
      ErrorKind::kInvalid,
      fmt::format(
          "{}: no such file; check the name (it is relative to the folder where spate was started)",
          shown));
}

Status CheckListFile(const std::string& file, bool first, std::string_view path) {
  std::error_code error;
  auto status = fs::status(file, error);
  std::string shown = EscapeForScreen(file);
  if (status.type() == fs::file_type::not_found) return Missing(file, first, path);
  if (fs::is_directory(status)) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{} is a folder; name a file with one command per line", shown));
  }
  int reason = error.value();
  if (fs::is_regular_file(status)) {
    if (std::FILE* opened = std::fopen(file.c_str(), "rbe")) {
      std::fclose(opened);
      return {};
    }
    reason = errno;
  } else if (!error) {
    return {};
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("{}: cannot read the file: {}; check its permissions", shown,
                          std::strerror(reason)));
}

}  // namespace

Status CheckListFiles(std::span<const std::string> files, std::string_view path) {
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i] == "-") continue;
    TRY(CheckListFile(files[i], i == 0, path));
  }
  return {};
}

}  // namespace spate::cli
