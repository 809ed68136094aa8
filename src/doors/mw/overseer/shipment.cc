#include "doors/mw/overseer/shipment.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "core/model/limits.h"
#include "core/model/task_files.h"
#include "os/file.h"

namespace spate::mw {
namespace {

constexpr uint32_t kProgramMode = 0755;
constexpr uint32_t kSecretMode = 0600;  // a resource file may have an access in it
constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH=";

// Without what changes from one writing to the next.
ResourceFile Lasting(ResourceFile file) {
  file.finished = false;
  file.timestamp = 0;
  file.update_interval = 0;
  file.slaves_needed = 0;
  return file;
}

// Puts a file into the shipment, under its last name.
Status AddFile(Shipment& shipment, const std::string& path, std::string_view bytes, uint32_t mode) {
  std::string name = os::BaseName(path);
  std::string shown = EscapeForScreen(path);
  // The names of --put are templates.
  if (name.find('{') != std::string::npos) {
    return Fail(ErrorKind::kInvalid, fmt::format("'{}' has a {{ in its name; rename it", shown));
  }
  auto& names = shipment.settings.put_patterns;
  if (std::ranges::find(names, name) != names.end()) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}': two files of that name travel to one folder", shown));
  }
  names.push_back(name);
  shipment.settings.puts.push_back({.name = std::move(name),
                                    .mode = mode,
                                    .size = bytes.size(),
                                    .first_piece = static_cast<uint32_t>(shipment.pieces.size())});
  do {
    shipment.pieces.emplace_back(bytes.substr(0, kPutPieceBytes));
    bytes.remove_prefix(shipment.pieces.back().size());
  } while (!bytes.empty());
  return {};
}

Result<std::string> ReadProgram(const std::string& path) {
  auto info = TRY(os::Stat(path));
  if (info.kind != os::FileKind::kFile || info.size > kLimits.file_bytes) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' cannot travel: {}", EscapeForScreen(path),
                            info.kind == os::FileKind::kFile
                                ? fmt::format("it has {}, and at most {} are brought along; strip "
                                              "it, or use a shared file system and --no-ship",
                                              FormatSize(info.size), FormatSize(kLimits.file_bytes))
                                : "it is not a file"));
  }
  return os::ReadFile(path, kLimits.file_bytes);
}

Status AddPrograms(Shipment& shipment, const ResourceFile& file) {
  std::vector<std::string> paths = {file.executable};
  paths.insert(paths.end(), file.libraries.begin(), file.libraries.end());
  uint64_t total = 0;
  for (const std::string& path : paths) {
    auto bytes = TRY(ReadProgram(path));
    total += bytes.size();
    if (total > kLimits.files_bytes || shipment.settings.puts.size() >= kLimits.put_files) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("the program and its libraries are more than {}, which is the most "
                              "that travels; use a shared file system and --no-ship",
                              FormatSize(kLimits.files_bytes)));
    }
    TRY(AddFile(shipment, path, bytes, kProgramMode));
  }
  return {};
}

// The libraries lie beside the program.
void SearchHere(std::vector<std::string>& environment) {
  for (std::string& entry : environment) {
    if (entry.starts_with(kLibraryPath)) {
      entry.insert(kLibraryPath.size(), entry.size() == kLibraryPath.size() ? "." : ".:");
      return;
    }
  }
  environment.push_back(fmt::format("{}.", kLibraryPath));
}

Status Ship(Shipment& shipment, const ResourceFile& file, const ShipmentSettings& how) {
  TRY(AddPrograms(shipment, file));
  JobSettings& settings = shipment.settings;
  settings.command =
      SlaveCommand("./" + os::BaseName(file.executable), os::BaseName(how.path), how.offers);
  SearchHere(settings.environment);
  TRY(AddFile(shipment, how.path, WriteResourceFile(file), kSecretMode));
  std::ranges::sort(settings.puts, {}, &PutFile::name);
  return {};
}

}  // namespace

std::vector<std::string> OfferWords(std::optional<uint32_t> slots, const Needs& needs) {
  if (!slots) return {};
  std::vector<std::string> words = {"--mw-slots", std::to_string(*slots)};
  auto add = [&words](const char* option, std::string value) {
    words.insert(words.end(), {option, std::move(value)});
  };
  if (needs.memory > 0) add("--mw-memory", std::to_string(needs.memory));
  for (const NamedNeed& each : needs.named) {
    add("--mw-resource", fmt::format("{}={}", each.name, each.count));
  }
  for (const std::string& each : needs.labels) add("--mw-label", each);
  return words;
}

std::vector<std::string> SlaveCommand(const std::string& program, const std::string& path,
                                      const std::vector<std::string>& offers) {
  std::vector<std::string> command = {program, "--mw-slave", "--mw-resource-file", path};
  command.insert(command.end(), offers.begin(), offers.end());
  return command;
}

std::string IdentityOf(const ResourceFile& file, const ShipmentSettings& how) {
  std::string all = fmt::format("{}\n{}\n{}", how.ship, how.path, WriteResourceFile(Lasting(file)));
  for (const std::string& word : how.offers) all += "\n" + word;
  return fmt::format("{:016x}", XXH3_64bits(all.data(), all.size()));
}

Result<Shipment> MakeShipment(const ResourceFile& file, const ShipmentSettings& how) {
  Shipment shipment;
  JobSettings& settings = shipment.settings;
  settings.name = "slaves of " + os::BaseName(how.path);
  settings.cwd = how.cwd;
  settings.row_kind = RowKind::kValues;
  settings.has_source = false;
  settings.leftovers = Leftovers::kEnd;
  settings.environment = how.environment;
  settings.umask = static_cast<int>(os::CurrentUmask());
  settings.command = SlaveCommand(file.executable, how.path, how.offers);
  if (how.ship) {
    TRY(Ship(shipment, file, how));
  }
  return shipment;
}

}  // namespace spate::mw
