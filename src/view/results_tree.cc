#include "view/results_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "os/file.h"
#include "os/own_dir.h"
#include "view/output_pieces.h"

namespace spate::cli {
namespace {

constexpr size_t kNameMax = 255;

std::string FileName(std::string_view value) {
  std::string name;
  for (char c : value) {
    if (c == '\\') {
      name += "\\\\";
    } else if (c == '\t') {
      name += "\\t";
    } else if (c == '\0') {
      name += "\\0";
    } else if (c == '/') {
      name += "\\_";
    } else {
      name += c;
    }
  }
  if (name.size() > kNameMax) name.resize(kNameMax);
  return name;
}

// Perl's <=>: the number at the start of a text, or 0.
double LeadingNumber(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Status WriteStream(const std::string& path, const OutputStream* stream, os::OpenHow how) {
  auto file = TRY(os::OpenNamed(path, how, os::Missing::kMake));
  if (!stream || stream->total == 0) return {};
  Status written;
  auto read = ForEachPiece(*stream, 0, [&](std::string_view piece) {
    if (written) written = os::WriteAll(file.get(), piece, path);
  });
  return written ? read : written;
}

}  // namespace

std::string ResultsFolder(const std::vector<std::string>& values,
                          const std::vector<std::string>& names, uint32_t columns) {
  size_t width = columns == 0 ? values.size() : columns;
  std::vector<std::string> heads;
  for (size_t i = 0; i < width; ++i) {
    heads.push_back(i < names.size() ? names[i] : std::to_string(i + 1));
  }
  std::vector<size_t> order(width);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    double x = LeadingNumber(heads[a]);
    double y = LeadingNumber(heads[b]);
    return x != y ? x < y : heads[a] < heads[b];
  });
  std::string folder;
  for (size_t record = 0; record < values.size(); record += width) {
    for (size_t i : order) {
      if (record + i >= values.size()) continue;
      folder +=
          fmt::format("{}{}/{}", folder.empty() ? "" : "/", heads[i], FileName(values[record + i]));
    }
  }
  return folder;
}

Result<std::unique_ptr<ResultsTree>> ResultsTree::Open(
    Options options, std::function<std::vector<std::string>(TaskIndex)> values,
    std::function<void(const Error&)> on_broken) {
  auto dir = os::OpenDirBelow(options.dir.starts_with('/') ? "/" : ".", options.dir);
  if (!dir) return Within("--results", dir.error());
  if (!os::MayAccess(options.dir, "rwx")) {
    return Fail(ErrorKind::kPermission,
                fmt::format("--results: {} is not a writable folder", options.dir));
  }
  std::unique_ptr<ResultsTree> tree(new ResultsTree);
  tree->options_ = std::move(options);
  tree->values_ = std::move(values);
  tree->on_broken_ = std::move(on_broken);
  return tree;
}

Status ResultsTree::WriteTask(const TaskEnded& ended) {
  TaskIndex index = ended.end.ref.index;
  std::string folder = os::JoinPath(
      options_.dir, ResultsFolder(values_(index), options_.value_names, options_.columns));
  auto how = options_.append ? os::OpenHow::kAppend : os::OpenHow::kTruncate;
  OutputStream seq{.bytes = std::to_string(index + 1), .spool = {}, .total = 1};
  if (options_.append) seq.bytes += '\n';
  const TaskOutput* output = ended.output.get();
  auto out = WriteStream(folder + "/stdout", output ? &output->out : nullptr, how);
  if (!out) return out;
  auto err = WriteStream(folder + "/stderr", output ? &output->err : nullptr, how);
  if (!err) return err;
  return WriteStream(folder + "/seq", &seq, how);
}

void ResultsTree::OnEnded(const TaskEnded& ended) {
  if (broken_ || !EndsTask(ended.verdict)) return;
  auto ok = WriteTask(ended);
  if (ok) return;
  broken_ = true;
  if (on_broken_) on_broken_(Within("--results", ok.error()).error());
}

}  // namespace spate::cli
