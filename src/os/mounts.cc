// The form is described in proc(5): "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root
// rw,errors=continue"; blanks, tabs, newlines and backslashes in names are octal escapes.
#include "os/mounts.h"

#include <charconv>

namespace spate::os {
namespace {

std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr ==
            text.data() + i + 4) {
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

bool ParseLine(std::string_view line, Mount* mount) {
  std::vector<std::string_view> words = Words(line);
  size_t dash = 6;
  while (dash < words.size() && words[dash] != "-") ++dash;
  if (dash + 2 >= words.size()) return false;
  std::string_view device = words[2];
  const char* end = device.data() + device.size();
  auto first = std::from_chars(device.data(), end, mount->device_major);
  if (first.ptr == end || *first.ptr != ':') return false;
  std::from_chars(first.ptr + 1, end, mount->device_minor);
  mount->root = Unescape(words[3]);
  mount->point = Unescape(words[4]);
  mount->options = words[5];
  mount->type = words[dash + 1];
  mount->source = Unescape(words[dash + 2]);
  if (dash + 3 < words.size()) mount->super_options = words[dash + 3];
  return true;
}

}  // namespace

std::vector<Mount> ParseMountInfo(std::string_view text) {
  std::vector<Mount> mounts;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    Mount mount;
    if (ParseLine(text.substr(0, end), &mount)) mounts.push_back(std::move(mount));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return mounts;
}

bool HasOption(std::string_view options, std::string_view option) {
  while (!options.empty()) {
    size_t end = std::min(options.find(','), options.size());
    if (options.substr(0, end) == option) return true;
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  return false;
}

}  // namespace spate::os
