#include "run/job_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "format/expand.h"
#include "format/input_row.h"

namespace spate::run {
namespace {

// By RowKind.
constexpr std::array<const char*, 4> kRowNames = {"lines", "values", "parasol", "input"};

// Words are any bytes, JSON strings are UTF-8: each byte becomes the code point of its value.
std::string ToLatin(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xC0 | byte >> 6);
      out += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return out;
}

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

}  // namespace

std::string EncodeJobText(const JobSettings& settings) {
  auto list = [](const std::vector<std::string>& words) {
    nlohmann::json out = nlohmann::json::array();
    for (const std::string& word : words) out.push_back(ToLatin(word));
    return out;
  };
  nlohmann::json json;
  json["rows"] = kRowNames[static_cast<size_t>(settings.row_kind)];
  json["command"] = list(settings.command);
  json["value_names"] = list(settings.value_names);
  json["record_values"] = settings.record_values;
  json["has_source"] = settings.has_source;
  json["repeat_context"] = settings.repeat_context;
  return json.dump();
}

Status DecodeJobText(std::string_view text, JobSettings& settings) {
  auto damaged = [] {
    return Fail(ErrorKind::kCorrupt, "the job's settings are damaged; run its list anew");
  };
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return damaged();
  auto list = [&](const char* name, std::vector<std::string>& out) {
    auto it = json.find(name);
    if (it == json.end() || !it->is_array()) return false;
    out.clear();
    for (const auto& word : *it) {
      if (!word.is_string()) return false;
      out.push_back(FromLatin(word.get_ref<const std::string&>()));
    }
    return true;
  };
  auto rows = json.find("rows");
  auto source = json.find("has_source");
  if (rows == json.end() || source == json.end() || !source->is_boolean()) return damaged();
  if (!list("command", settings.command) || !list("value_names", settings.value_names)) {
    return damaged();
  }
  auto kind = std::find(kRowNames.begin(), kRowNames.end(), *rows);
  if (kind == kRowNames.end()) return damaged();
  settings.row_kind = static_cast<RowKind>(kind - kRowNames.begin());
  settings.has_source = source->get<bool>();
  auto values = json.find("record_values");
  bool known = values != json.end() && values->is_number_unsigned();
  settings.record_values = known ? values->get<uint32_t>() : 0;
  auto repeat = json.find("repeat_context");
  settings.repeat_context = repeat != json.end() && *repeat == true;
  return {};
}

Result<TagMaker> MakeTag(const std::string& text, const JobSettings& settings) {
  // A tag is a word that a task of such a command would get.
  JobSettings tag = settings;
  tag.row_kind = RowKind::kValues;
  tag.has_source = true;
  tag.command = {"{#}", text};  // with a placeholder, so that none is added
  tag.stdin_pattern.clear();
  auto compiled = format::CompileJob(tag, JobId(1));
  if (!compiled) return Within("--tagstring", compiled.error());
  bool pieces = settings.row_kind == RowKind::kInput;
  return [pieces, tag = *compiled](std::string row, TaskIndex index) {
    auto body = format::Expand(tag, pieces ? format::InputText(row) : row, index, 0);
    if (!body) return std::string();
    const auto& words = body->steps.front().commands.front().argv;
    return fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " "));
  };
}

std::vector<std::string> ValuesOfRow(const JobSettings& settings, std::string row) {
  std::vector<std::string> values;
  if (!settings.has_source) return values;
  if (settings.row_kind == RowKind::kListLine) return {std::move(row)};
  if (settings.row_kind == RowKind::kInput) return {format::InputText(row)};
  size_t start = 0;
  for (size_t end = row.find('\0'); end != std::string::npos; end = row.find('\0', start)) {
    values.push_back(row.substr(start, end - start));
    start = end + 1;
  }
  values.push_back(row.substr(start));
  return values;
}

}  // namespace spate::run
