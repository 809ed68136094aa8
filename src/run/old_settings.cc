#include "run/old_settings.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace spate::run {
namespace {

// By RowKind.
constexpr std::array<const char*, 4> kRowNames = {"lines", "values", "parasol", "input"};

// Each byte of a word was the code point of its value.
std::string FromLatin(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0xC0 && i + 1 < text.size()) {
      byte = static_cast<unsigned char>((byte & 0x03) << 6 |
                                        (static_cast<unsigned char>(text[++i]) & 0x3F));
    }
    out += static_cast<char>(byte);
  }
  return out;
}

bool TakeWords(const nlohmann::json& from, std::vector<std::string>& to) {
  if (!from.is_array()) return false;
  for (const auto& word : from) {
    if (!word.is_string()) return false;
    to.push_back(FromLatin(word.get_ref<const std::string&>()));
  }
  return true;
}

bool TakeAll(const nlohmann::json& json, JobSettings& to) {
  if (!json.is_object()) return false;
  // Fields that came later are not in all of them.
  auto field = [&](const char* name) { return json.value(name, nlohmann::json()); };
  auto kind = std::find(kRowNames.begin(), kRowNames.end(), field("rows"));
  if (kind == kRowNames.end() || !field("has_source").is_boolean()) return false;
  to.row_kind = static_cast<RowKind>(kind - kRowNames.begin());
  to.has_source = field("has_source") == true;
  to.repeat_context = field("repeat_context") == true;
  if (auto values = field("record_values"); values.is_number_unsigned()) {
    to.record_values = values.get<uint32_t>();
  }
  return TakeWords(field("command"), to.command) && TakeWords(field("value_names"), to.value_names);
}

}  // namespace

Result<JobSettings> ReadOldSettings(std::string_view text) {
  JobSettings settings;
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (TakeAll(json, settings)) return settings;
  return Fail(ErrorKind::kCorrupt, "these are no settings");
}

}  // namespace spate::run
