// PATH as execvp reads it: an empty entry is the current folder, the first file that may be
// executed wins, and one that may not be is reported only when no other is found.
#include "shepherd/path_lookup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "os/file.h"

namespace spate::shepherd {
namespace {

constexpr size_t kMostRemembered = 256;

template <typename Fn>
void ForEachFolder(std::string_view search, Fn fn) {
  while (true) {
    size_t colon = search.find(':');
    if (!fn(search.substr(0, colon)) || colon == search.npos) return;
    search.remove_prefix(colon + 1);
  }
}

// A folder of PATH that depends on the current one may lie elsewhere next time.
bool IsLocalFolder(std::string_view folder) {
  if (!folder.starts_with('/')) return false;
  auto facts = os::FileSystemOf(std::string(folder));
  return facts.has_value() && !facts->is_network;
}

}  // namespace

const PathLookup::Found& PathLookup::Find(std::string_view name, std::string_view search,
                                          UserFiles* files) {
  if (name.find('/') != name.npos || name.empty()) {
    last_.path = name;
    last_.error = name.empty() ? ENOENT : 0;
    last_.remembered = false;
    return last_;
  }
  if (search != search_) {
    search_ = search;
    known_.clear();
    relative_ = false;
    ForEachFolder(search_, [this](std::string_view folder) {
      relative_ = relative_ || !folder.starts_with('/');
      return true;
    });
  }
  if (!relative_) {
    auto it = known_.find(std::string(name));
    if (it != known_.end()) return it->second;
  }
  last_ = files == nullptr ? Search(name, nullptr) : LookBy(*files, name);
  if (last_.error != 0 || relative_) return last_;
  if (known_.size() >= kMostRemembered) known_.clear();
  Found& kept = known_[std::string(name)] = last_;
  kept.remembered = true;
  return last_;
}

void PathLookup::Forget(std::string_view name) { known_.erase(std::string(name)); }

// An answer of another process is a text: the error, and the path.
PathLookup::Found PathLookup::LookBy(UserFiles& files, std::string_view name) const {
  auto ask = [&](bool* is_local) {
    Found found = Search(name, is_local);
    return fmt::format("{} {}", found.error, found.path);
  };
  auto text = files.Evaluate("PATH=" + search_, "the folders in PATH", ask);
  Found found;
  found.error = EAGAIN;
  if (!text) return found;
  std::from_chars(text->data(), text->data() + text->size(), found.error);
  found.path = text->substr(text->find(' ') + 1);
  return found;
}

PathLookup::Found PathLookup::Search(std::string_view name, bool* is_local) const {
  Found found;
  found.error = ENOENT;
  ForEachFolder(search_, [&](std::string_view folder) {
    std::string path(folder.empty() ? "." : folder);
    path.append("/").append(name);
    if (is_local != nullptr) *is_local = *is_local && IsLocalFolder(folder);
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return true;
    if (!S_ISREG(info.st_mode) || faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0) {
      if (S_ISREG(info.st_mode)) found.error = EACCES;
      return true;
    }
    found.path = std::move(path);
    found.error = 0;
    return false;
  });
  return found;
}

}  // namespace spate::shepherd
