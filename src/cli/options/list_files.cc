#include "cli/options/list_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/units.h"
#include "cli/options/words.h"

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

Status CheckListFile(const std::string& file) {
  std::error_code error;
  auto status = fs::status(file, error);
  std::string shown = EscapeForScreen(file);
  if (status.type() == fs::file_type::not_found) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: no such file; check the name (it is relative to the folder where "
                            "spate was started)",
                            shown));
  }
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

Status CheckListFiles(std::span<const std::string> files) {
  for (const std::string& file : files) {
    if (file == "-") continue;
    TRY(CheckListFile(file));
  }
  return {};
}

Status CheckDashes(const Command& command, std::span<const std::string> argv,
                   std::string_view path) {
  const bool runs_it = command.makes != Makes::kNoJob || command.words_max == 0;
  if (!command.takes_command || !runs_it) return {};
  if (std::ranges::find(argv, "--") != argv.end()) return {};
  size_t at = FirstPlainWord(command, argv);
  // After the job of `job add`.
  for (uint32_t i = 0; i < command.words_min; ++i) at = FirstPlainWord(command, argv, at + 1);
  if (at >= argv.size()) return {};
  const std::string& first = argv[at];
  std::error_code error;
  const bool blanks = first.find_first_of(" \t") != std::string::npos;
  if (fs::exists(first, error) || !(blanks || IsProgram(first, path))) return {};
  std::string meant = fmt::format("spate {}", command.name);
  for (size_t i = 0; i < argv.size(); ++i) {
    meant += (i == at ? " -- " : " ") + ShellQuote(argv[i]);
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("{}: no such file; to run a command, write -- before it: {}",
                          EscapeForScreen(first), EscapeForScreen(meant)));
}

}  // namespace spate::cli
