// The parser is a table: one row for each name, with how its value is read. Errors name the line
// and never repeat a secret.
#include "access/access_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/near.h"
#include "base/number.h"
#include "base/units.h"
#include "base/utc.h"
#include "os/file.h"

namespace spate::access {
namespace {

constexpr size_t kFileMax = 64 * 1024;
constexpr size_t kHubsMax = 16;
constexpr size_t kUserMax = 256;
constexpr std::string_view kPinPrefix = "sha256:";

// Each reads a value, or says what it must be.
using Problem = std::optional<std::string>;

Problem ReadHub(std::string_view value, Access& access) {
  auto address = os::ParseAddress(value);
  if (!address) return address.error().message;
  if (!address->is_unix() && address->port == 0) return "a hub's port is 1 to 65535";
  if (access.hubs.size() == kHubsMax) return fmt::format("there are more than {} hubs", kHubsMax);
  access.hubs.push_back(std::move(*address));
  return {};
}

Problem ReadPin(std::string_view value, Access& access) {
  auto pin = value.starts_with(kPinPrefix) ? Bytes32FromHex(value.substr(kPinPrefix.size()))
                                           : std::nullopt;
  if (!pin) return "the pin is sha256: and 64 hexadecimal digits";
  access.pin = *pin;
  return {};
}

Problem ReadSerial(std::string_view value, Access& access) {
  access.serial = ReadNumber<decltype(access.serial)>(value).value_or(0);
  if (access.serial == 0) return "the serial is a number from 1";
  return {};
}

Problem ReadRole(std::string_view value, Access& access) {
  auto role = FromWord<Role>(value);
  if (!role || role == Role::kNone) return "the role is node, client or admin";
  access.role = *role;
  return {};
}

Problem ReadUser(std::string_view value, Access& access) {
  auto odd = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; };
  if (value.size() > kUserMax || std::ranges::any_of(value, odd)) {
    return fmt::format("the user is a name without blanks, of at most {} bytes", kUserMax);
  }
  access.user = value;
  return {};
}

Problem ReadExpires(std::string_view value, Access& access) {
  if (value == "never") return {};
  auto when = ParseUtc(value);
  if (!when) return when.error().message + ", or never";
  access.expires = *when;
  return {};
}

Problem ReadSecret(std::string_view value, Access& access) {
  auto secret = Bytes32FromHex(value);
  if (!secret) return "the secret is 64 hexadecimal digits";
  access.secret = *secret;
  return {};
}

struct Field {
  std::string_view name;
  Problem (*read)(std::string_view value, Access& access);
  bool repeats = false;
};
constexpr Field kFields[] = {{"hub", ReadHub, true}, {"pin", ReadPin},   {"serial", ReadSerial},
                             {"role", ReadRole},     {"user", ReadUser}, {"expires", ReadExpires},
                             {"secret", ReadSecret}};

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

class Parser {
 public:
  Problem Line(size_t number, std::string_view line) {
    line = Trim(line);
    if (line.empty() || line.starts_with('#')) return {};
    size_t equals = line.find('=');
    if (equals == std::string_view::npos) return "this line is not `name = value`";
    std::string_view name = Trim(line.substr(0, equals));
    std::string_view value = Trim(line.substr(equals + 1));
    const auto* field = std::ranges::find(kFields, name, &Field::name);
    if (field == std::end(kFields)) return Unknown(name);
    size_t& seen = lines_[static_cast<size_t>(field - kFields)];
    if (seen != 0 && !field->repeats) {
      return fmt::format("`{}` is already in line {}; remove one of the two", name, seen);
    }
    seen = number;
    if (value.empty()) return fmt::format("`{}` has no value", name);
    return field->read(value, access_);
  }

  // Checks that need the whole file.
  Problem End() const {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i] == 0) return fmt::format("`{}` is missing", kFields[i].name);
    }
    if (access_.user == kEveryUser && access_.role != Role::kNode) {
      return "only a node can serve all users (`user = *`)";
    }
    return {};
  }
  Access Take() { return std::move(access_); }

 private:
  static std::string Unknown(std::string_view name) {
    std::array<std::string_view, std::size(kFields)> names;
    std::ranges::transform(kFields, names.begin(), &Field::name);
    return fmt::format(
        "the name `{}` is unknown{} (or was the file made by a newer version of Spate?)",
        EscapeForScreen(name.substr(0, 40)), DidYouMean(name, names));
  }

  Access access_;
  std::array<size_t, std::size(kFields)> lines_{};  // where each was seen last; 0: not yet
};

constexpr std::string_view kRepair = "; repair it, or get the file again from its source";

std::unexpected<Error> Invalid(std::string_view where, const std::string& problem) {
  return Fail(ErrorKind::kInvalid, fmt::format("{}: {}{}", where, problem, kRepair));
}

}  // namespace

Result<Access> ParseAccess(std::string_view text, std::string_view name) {
  Parser parser;
  std::string file = EscapeForScreen(name);
  size_t number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (Problem problem = parser.Line(++number, text.substr(0, end))) {
      return Invalid(fmt::format("{}, line {}", file, number), *problem);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (Problem problem = parser.End()) return Invalid(file, *problem);
  return parser.Take();
}

std::string FormatAccess(const Access& access) {
  std::string text =
      "# Access to a Spate hub. Anyone who has this file can act as its user: keep it secret (mode "
      "0600).\n";
  for (const os::Address& hub : access.hubs) {
    text += fmt::format("hub = {}\n", os::FormatAddress(hub));
  }
  text += fmt::format("pin = {}{}\n", kPinPrefix, ToHex(access.pin));
  text += fmt::format("serial = {}\nrole = {}\nuser = {}\n", access.serial, WordOf(access.role),
                      access.user);
  text += fmt::format("expires = {}\n",
                      access.expires == Instant::Never() ? "never" : FormatUtc(access.expires));
  return text + fmt::format("secret = {}\n", ToHex(access.secret));
}

Result<Access> LoadAccess(const std::string& path) {
  auto text = TRY(os::ReadPrivateFile(path, kFileMax));
  return ParseAccess(text, path);
}

Status SaveAccess(const std::string& path, const Access& access) {
  return os::WriteFileAtomically(path, FormatAccess(access), 0600);
}

Status CheckExpiry(const Access& access, Instant now) {
  if (now < access.expires) return {};
  return Fail(ErrorKind::kPermission,
              fmt::format("the access of {} (serial {}) expired on {}; ask your hub's "
                          "administrator for a new access file",
                          EscapeForScreen(access.user), access.serial, FormatUtc(access.expires)));
}

namespace {

// One that cannot be read as an access file is for its reader to report.
bool MayBeOf(const std::string& path, AccessOf whose) {
  if (!os::Exists(path) || !os::MayAccess(path, "r")) return false;
  auto access = LoadAccess(path);
  return !access || (access->role == Role::kNode) == (whose == AccessOf::kNode);
}

}  // namespace

Result<std::string> FindAccessFile(std::string_view option, const os::Environment& environment,
                                   AccessOf whose, const std::string& system_folder) {
  if (!option.empty()) return std::string(option);
  if (std::string named = environment.GetOr("SPATE_HUB", ""); !named.empty()) return named;
  std::string config = environment.GetOr("XDG_CONFIG_HOME", "");
  std::string home = environment.GetOr("HOME", "");
  // The specification of these folders wants others ignored.
  if (!config.starts_with('/')) config = home.empty() ? "" : os::JoinPath(home, ".config");
  std::vector<std::string> folders = {system_folder};
  if (!config.empty()) folders.insert(folders.begin(), os::JoinPath(config, "spate"));
  std::string places;
  for (const std::string& folder : folders) {
    for (const char* name : {"node.access", "access"}) {
      if (whose != AccessOf::kNode && name == std::string_view("node.access")) continue;
      std::string path = os::JoinPath(folder, name);
      if (MayBeOf(path, whose)) return path;
      places += fmt::format("{} at '{}'", places.empty() ? "" : " and", EscapeForScreen(path));
    }
  }
  return Fail(ErrorKind::kNotFound,
              fmt::format("no access file: looked{}; name one with --access FILE or "
                          "SPATE_HUB=FILE, or ask your hub's administrator for one",
                          places));
}

}  // namespace spate::access
