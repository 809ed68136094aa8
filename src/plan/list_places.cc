#include "plan/list_places.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/units.h"
#include "format/dag/dag.h"
#include "format/joblist/reader.h"
#include "os/file.h"

namespace spate::cli {
namespace {

constexpr size_t kPieceBytes = 256 * 1024;

class PlaceFinder {
 public:
  PlaceFinder(const std::vector<WantedPlace>& wanted, RowKind kind, std::string_view until)
      : wanted_(wanted), kind_(kind), until_(until) {
    for (const WantedPlace& one : wanted) by_row_[one.row];
  }

  void Read(const std::string& path, const std::string& name) {
    // A pipe is empty by now, or would be waited for.
    auto info = os::Stat(path);
    auto file = info && info->kind == os::FileKind::kFile ? os::OpenRead(path)
                                                          : Fail(ErrorKind::kNotFound, name);
    if (!file) return next_.reset();  // how many tasks it had is not known
    if (kind_ == RowKind::kDagTask) return ReadGraph(path, name);
    format::JobListReader reader(until_);
    std::string piece(kPieceBytes, '\0');
    auto take = [&] {
      while (auto entry = reader.Next()) Add(entry->line, entry->row, name);
    };
    for (;;) {
      auto size = os::ReadSome(file->get(), piece.data(), piece.size(), path);
      if (!size || *size == 0) break;
      reader.Feed(std::string_view(piece).substr(0, *size));
      take();
    }
    reader.Finish();
    take();
  }

  std::vector<std::string> Found() const {
    std::vector<std::string> places;
    for (const WantedPlace& one : wanted_) {
      auto exact = exact_.find(one.index);
      const Matches& matches = by_row_.at(one.row);
      places.push_back(exact != exact_.end() ? exact->second
                       : matches.count == 1  ? matches.first
                                             : std::string());
    }
    return places;
  }

 private:
  struct Matches {
    std::string first;
    size_t count = 0;
  };

  void ReadGraph(const std::string& path, const std::string& name) {
    auto text = os::ReadFile(path, SIZE_MAX);
    if (!text) return;
    format::ReadDag(*text, 0,
                    [&](const format::DagEntry& entry) { Add(entry.line, entry.row, name); });
  }

  void Add(uint64_t line, std::string_view row, const std::string& name) {
    std::optional<TaskIndex> index = next_;
    if (next_) ++*next_;
    auto found = by_row_.find(std::string(row));
    if (found == by_row_.end()) return;
    std::string place = fmt::format("{}:{}", EscapeForScreen(name), line);
    if (found->second.count++ == 0) found->second.first = place;
    for (const WantedPlace& one : wanted_) {
      if (index == one.index && one.row == row) exact_[one.index] = place;
    }
  }

  const std::vector<WantedPlace>& wanted_;
  const RowKind kind_;
  const std::string_view until_;
  std::unordered_map<std::string, Matches> by_row_;
  std::unordered_map<TaskIndex, std::string> exact_;
  std::optional<TaskIndex> next_ = 0;  // the next task of the lists
};

}  // namespace

std::vector<std::string> PlacesInLists(const std::string& cwd,
                                       const std::vector<std::string>& files,
                                       const std::vector<WantedPlace>& wanted, RowKind kind,
                                       std::string_view until) {
  PlaceFinder finder(wanted, kind, until);
  for (const std::string& file : files) finder.Read(os::JoinPath(cwd, file), file);
  return finder.Found();
}

}  // namespace spate::cli
