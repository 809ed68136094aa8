// One walk hashes the path of each file that a task writes or reads. Equal hashes lie side by side
// once they are sorted. Only when some are equal does a second walk get the paths back, for the
// message; it also shows whether the file is one that tasks may share (/dev/null).
#include "plan/output_clash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <compare>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "format/expand.h"
#include "format/template.h"
#include "os/file.h"

namespace spate::cli {
namespace {

enum class FileUse : uint8_t { kIn, kOut, kErr, kResults };

std::string_view OptionOf(FileUse use) {
  switch (use) {
    case FileUse::kIn:
      return "--stdin";
    case FileUse::kOut:
      return "--stdout";
    case FileUse::kErr:
      return "--stderr";
    case FileUse::kResults:
      break;
  }
  return "--results";
}

// True if no part of the path is ".", ".." or empty. Hidden files take the long way, too.
bool IsPlain(std::string_view path) {
  return !path.starts_with("./") && !path.starts_with("../") &&
         path.find("//") == std::string_view::npos && path.find("/.") == std::string_view::npos &&
         !path.ends_with('/');
}

// `path` without ".", ".." and doubled slashes, seen from `folder`, which is so already.
void AppendResolved(std::string_view folder, std::string_view path, std::string& out) {
  out.clear();
  if (!path.starts_with('/')) out += folder;
  if (IsPlain(path)) {
    if (!path.starts_with('/')) out += '/';
    out += path;
    return;
  }
  while (!path.empty()) {
    size_t slash = path.find('/');
    std::string_view part = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      size_t last = out.rfind('/');
      out.resize(last == std::string::npos ? 0 : last);
    } else {
      out += '/';
      out += part;
    }
  }
}

// Devices, the streams of processes among them; there are file systems below /dev, too.
bool IsDevice(std::string_view path) {
  if (path.starts_with("/proc/self/fd/")) return true;
  if (!path.starts_with("/dev/")) return false;
  for (std::string_view files : {"/dev/shm/", "/dev/mqueue/", "/dev/hugepages/"}) {
    if (path.starts_with(files)) return false;
  }
  return true;
}

// The paths of a job's tasks.
class TaskFiles {
 public:
  explicit TaskFiles(const OutputRules& rules) : rules_(rules), settings_(rules.settings) {
    AppendResolved("", settings_.cwd, folder_);
    const std::string_view replace = format::ReplaceOf(settings_.replace);
    for (auto [use, pattern] : {std::pair{FileUse::kIn, &settings_.stdin_pattern},
                                {FileUse::kOut, &settings_.stdout_pattern},
                                {FileUse::kErr, &settings_.stderr_pattern}}) {
      if (pattern->empty()) continue;
      // Pieces of --pipe and --pipepart are not files that the user named.
      if (use == FileUse::kIn && settings_.row_kind == RowKind::kInput) continue;
      format::Template name = format::Template::Parse(
          *pattern, {.names = settings_.value_names, .job = true, .replace = replace});
      patterns_.push_back({use, std::move(name)});
    }
  }

  bool writes() const {
    return rules_.results || std::ranges::any_of(patterns_, [](const Pattern& pattern) {
             return pattern.use != FileUse::kIn;
           });
  }
  // All names differ by the task's number alone, as in out.{#}.
  bool are_numbered() const {
    bool one = patterns_.size() == 1 || (patterns_.size() == 2 && settings_.stdin_pattern.empty() &&
                                         settings_.stdout_pattern == settings_.stderr_pattern);
    return one && !rules_.results && IsNumbered(patterns_.front().name);
  }
  // The first file that tasks share because its name has no number; `text` as it was written.
  std::optional<FileUse> unnumbered(std::string& text) const {
    for (const Pattern& pattern : patterns_) {
      if (pattern.use == FileUse::kIn || IsNumbered(pattern.name)) continue;
      text = pattern.use == FileUse::kOut ? settings_.stdout_pattern : settings_.stderr_pattern;
      if (!Skip(text)) return pattern.use;
    }
    return std::nullopt;
  }

  // Calls visit(use, path, as written) for each file of the task.
  template <typename Visit>
  void Of(TaskIndex task, std::string_view row, const Visit& visit) {
    values_.clear();
    if (settings_.row_kind == RowKind::kValues && settings_.has_source) Split(row);
    format::Filling filling{.values = values_,
                            .number = uint64_t{task} + 1,
                            .slot = 1,
                            .job = 0,
                            .repeat = settings_.repeat_context};
    for (const Pattern& pattern : patterns_) {
      name_.clear();
      format::AppendText(pattern.name, filling, name_);
      if (name_.empty() || Skip(name_)) continue;
      AppendResolved(folder_, name_, path_);
      if (!IsDevice(path_)) visit(pattern.use, path_, name_);
    }
    if (!rules_.results) return;
    name_ = rules_.results(row);
    visit(FileUse::kResults, name_, name_);
  }

 private:
  struct Pattern {
    FileUse use;
    format::Template name;
  };

  static bool IsNumbered(const format::Template& name) {
    using Kind = format::Piece::Kind;
    bool number = false;
    for (const format::Piece& piece : name.pieces()) {
      if (piece.kind == Kind::kValue || piece.kind == Kind::kSlot) return false;
      // Such a part may take the number away again.
      if (piece.kind == Kind::kText && piece.text.find("..") != std::string::npos) return false;
      number |= piece.kind == Kind::kNumber;
    }
    return number;
  }
  // In a folder that each attempt has of its own (--put, --get), or a device.
  bool Skip(std::string_view name) const {
    return (settings_.has_own_folder() && !name.starts_with('/')) || IsDevice(name);
  }
  void Split(std::string_view row) {
    while (true) {
      size_t end = row.find('\0');
      values_.push_back(row.substr(0, end));
      if (end == std::string_view::npos) return;
      row.remove_prefix(end + 1);
    }
  }

  const OutputRules& rules_;
  const JobSettings& settings_;
  std::string folder_;
  std::vector<Pattern> patterns_;
  std::vector<std::string_view> values_;
  std::string name_;
  std::string path_;
};

struct HashedFile {
  uint64_t hash = 0;
  TaskIndex task = 0;
  FileUse use = FileUse::kIn;
  auto operator<=>(const HashedFile&) const = default;
};

// Two uses of a file that do not go together; `first` writes.
struct FileClash {
  HashedFile first;
  HashedFile second;
  uint64_t more = 0;  // further tasks that write where another one does
};

// The lowest clash among files of one hash, ordered by task and use: of two that write, if any do.
std::optional<FileClash> ClashIn(std::span<const HashedFile> group) {
  auto writes = [](const HashedFile& file) { return file.use != FileUse::kIn; };
  auto writer = std::ranges::find_if(group, writes);
  if (writer == group.end()) return std::nullopt;
  auto other = std::find_if(writer + 1, group.end(), writes);
  if (other == group.end()) other = group.begin() == writer ? writer + 1 : group.begin();
  return FileClash{*writer, *other};
}

// The names of two tasks that clash, and the file as each of them names it.
struct ClashTexts {
  std::array<std::string, 2> names;
  std::array<std::string, 2> paths;
  std::array<std::string, 2> rows;
};

ClashTexts TextsOf(const FileClash& clash, TaskFiles& files, const TaskRows& rows) {
  ClashTexts texts;
  rows([&](TaskIndex task, std::string_view row) {
    for (size_t i : {0, 1}) {
      const HashedFile& file = i == 0 ? clash.first : clash.second;
      if (task != file.task) continue;
      files.Of(task, row, [&](FileUse use, const std::string& path, const std::string& name) {
        if (use != file.use) return;
        texts.paths[i] = path;
        texts.names[i] = name;
      });
      constexpr size_t kShown = 40;
      std::string shown(row.substr(0, kShown));
      std::ranges::replace(shown, '\0', ' ');
      texts.rows[i] = EscapeForScreen(shown) + (row.size() > kShown ? "..." : "");
    }
  });
  return texts;
}

// "task 1 (a.x)"
std::string TaskText(TaskIndex task, const std::string& row) {
  if (row.empty()) return fmt::format("task {}", uint64_t{task} + 1);
  return fmt::format("task {} ({})", uint64_t{task} + 1, row);
}

std::string Explain(const FileClash& clash, const ClashTexts& texts) {
  const std::string first = TaskText(clash.first.task, texts.rows[0]);
  const std::string second = TaskText(clash.second.task, texts.rows[1]);
  const std::string file = EscapeForScreen(texts.names[1]);
  std::string_view writes = OptionOf(clash.first.use);
  std::string_view other = OptionOf(clash.second.use);
  if (clash.second.use == FileUse::kIn) {
    if (clash.first.task == clash.second.task) {
      return fmt::format(
          "{} and {} of {} are the same file, '{}': it would be emptied before it is read\nwrite "
          "to another file",
          other, writes, second, file);
    }
    return fmt::format(
        "{}: {} would overwrite '{}', which {} reads\nwrite to another file, as in {} 'out/{{#}}'",
        writes, first, file, second, writes);
  }
  if (clash.first.task == clash.second.task) {
    return fmt::format(
        "--stdout and --stderr of {} are the same file under two names, '{}' and '{}': one would "
        "overwrite the other\nuse the same name for both, which then share the file; or use "
        "--append",
        first, EscapeForScreen(texts.names[0]), file);
  }
  std::string more;
  if (clash.more > 0) {
    more = fmt::format(" ({} more {} such a file)", FormatCount(clash.more),
                       clash.more == 1 ? "task has" : "tasks have");
  }
  if (clash.first.use == FileUse::kResults) {
    return fmt::format(
        "--results: {} and {} have the same folder, '{}', and one would overwrite the other's "
        "results{}\nleave out duplicates, write a table (--results all.csv), or let the tasks "
        "share the folder with --append",
        first, second, file, more);
  }
  std::string both = writes == other ? std::string(writes) : fmt::format("{}, {}", writes, other);
  return fmt::format(
      "{}: {} and {} would write to the same file, '{}', and overwrite each other's output{}\ngive "
      "each task its own file, as in {} '{{#}}.txt', or let them share it with --append",
      both, first, second, file, more, writes);
}

std::unexpected<Error> NotStarted(std::string why) {
  return Fail(ErrorKind::kInvalid, std::move(why) + "\nnothing was started");
}

// Files of which one is made before it is read, as in a chain of tasks; and pipes and devices that
// are called otherwise than /dev/...
bool MayBeShared(const FileClash& clash, const std::string& path) {
  if (clash.first.use == FileUse::kResults) return false;
  auto info = os::Stat(path);
  if (!info) return clash.second.use == FileUse::kIn && clash.first.task != clash.second.task;
  return info->kind != os::FileKind::kFile && info->kind != os::FileKind::kDir;
}

// The clash, if tasks write to one file, whose second task comes first.
std::optional<FileClash> FirstClash(std::span<const HashedFile> files) {
  auto key = [](const FileClash& clash) {
    return std::pair(clash.second.use == FileUse::kIn, clash.second.task);
  };
  std::optional<FileClash> best;
  uint64_t sharing = 0;
  for (size_t begin = 0, end = 0; begin < files.size(); begin = end) {
    while (end < files.size() && files[end].hash == files[begin].hash) ++end;
    if (end - begin < 2) continue;
    auto clash = ClashIn(files.subspan(begin, end - begin));
    if (!clash) continue;
    sharing += end - begin - 1;
    if (!best || key(*clash) < key(*best)) best = clash;
  }
  if (best) best->more = sharing - 1;
  return best;
}

}  // namespace

Status CheckOutputs(const OutputRules& rules, const TaskRows& rows) {
  if (rules.settings.append_output) return {};
  TaskFiles files(rules);
  if (!files.writes() || files.are_numbered()) return {};
  std::vector<HashedFile> all;
  std::string out;
  rows([&](TaskIndex task, std::string_view row) {
    out.clear();
    files.Of(task, row, [&](FileUse use, const std::string& path, const std::string& name) {
      if (use == FileUse::kOut) out = name;
      // By one name both go to one file.
      if (use == FileUse::kErr && name == out) return;
      all.push_back({XXH3_64bits(path.data(), path.size()), task, use});
    });
  });
  std::ranges::sort(all);
  // A job has few files that tasks may share and that are not in /dev.
  constexpr int kMostShared = 8;
  for (int i = 0; i < kMostShared; ++i) {
    auto clash = FirstClash(all);
    if (!clash) return {};
    ClashTexts texts = TextsOf(*clash, files, rows);
    bool equal = texts.paths[0] == texts.paths[1];  // not their hashes alone
    if (equal && !MayBeShared(*clash, texts.paths[0])) return NotStarted(Explain(*clash, texts));
    std::erase_if(all, [&](const HashedFile& file) { return file.hash == clash->first.hash; });
  }
  return {};
}

Status CheckLaterOutputs(const OutputRules& rules, std::string_view tasks) {
  if (rules.settings.append_output) return {};
  std::string text;
  if (auto use = TaskFiles(rules).unnumbered(text)) {
    return NotStarted(
        fmt::format("{} '{}': all tasks that {} makes would write to this file and overwrite each "
                    "other's output\ngive each task its own file, as in {} '{{#}}.txt', or let "
                    "them share it with --append",
                    OptionOf(*use), EscapeForScreen(text), tasks, OptionOf(*use)));
  }
  if (!rules.results) return {};
  return NotStarted(fmt::format(
      "--results: tasks with equal values share a folder, and {} may add such tasks later\nwrite a "
      "table (--results all.csv), or let them share the folder with --append",
      tasks));
}

}  // namespace spate::cli
