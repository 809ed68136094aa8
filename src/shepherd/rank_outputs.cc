#include "shepherd/rank_outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace spate::shepherd {
namespace {

constexpr size_t kBlock = 256 * 1024;
constexpr uint64_t kOtherFiles = 64;  // that this process may have besides

os::Fd OpenRankFile(const std::string& folder) {
  os::Fd fd(open(folder.c_str(), O_RDWR | O_TMPFILE | O_APPEND | O_CLOEXEC, 0600));
  if (fd || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return fd;
  // A file system without nameless files. What is left when we are killed in between has a name
  // that no attempt has, so the node's next process removes it.
  std::string path = folder + "/rank-XXXXXX";
  fd.Reset(mkostemp(path.data(), O_APPEND | O_CLOEXEC));
  if (fd) unlink(path.c_str());
  return fd;
}

uint64_t Put(int fd, OutputCollector& collector, Pulse pulse) {
  uint64_t before = collector.stored();
  std::string block(kBlock, '\0');
  for (off_t at = 0;;) {
    ssize_t got = pread(fd, block.data(), block.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    collector.Add(std::string_view(block).substr(0, static_cast<size_t>(got)));
    at += got;
    pulse.Beat();
  }
  return collector.stored() - before;
}

}  // namespace

void RankOutputs::Begin() { Clear(); }

std::optional<StartFailure> RankOutputs::Open(const std::string& spool_folder, size_t ranks,
                                              std::optional<uint32_t> user) {
  if (!empty()) return std::nullopt;
  if (auto failure = NeedFiles(2 * ranks + kOtherFiles)) return failure;
  std::vector<std::array<os::Fd, 2>> made(ranks);
  for (std::array<os::Fd, 2>& rank : made) {
    for (os::Fd& fd : rank) {
      fd = OpenRankFile(spool_folder);
      if (!fd) return StartFailure::Of(errno, "cannot make a file for the output of a rank");
      if (user && fchown(fd.get(), *user, static_cast<gid_t>(-1)) != 0) {
        return StartFailure::Of(errno, "cannot give the file for the output of a rank to its user");
      }
    }
  }
  ranks_ = std::move(made);
  return std::nullopt;
}

std::optional<StartFailure> RankOutputs::NeedFiles(uint64_t count) {
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= count) return std::nullopt;
  if (files.rlim_max < count) {
    return StartFailure{
        0, fmt::format("the processes need {} open files, but this node may have {} (ulimit -Hn)",
                       count, files.rlim_max)};
  }
  files_before_ = files.rlim_cur;
  files.rlim_cur = count;
  if (setrlimit(RLIMIT_NOFILE, &files) == 0) return std::nullopt;
  return StartFailure::Of(errno, "cannot have enough open files for the output of ranks");
}

std::vector<RankOutputs::Lengths> RankOutputs::DrainInto(OutputCollector& out, OutputCollector& err,
                                                         Pulse pulse) {
  std::vector<Lengths> lengths;
  for (std::array<os::Fd, 2>& rank : ranks_) {
    Lengths& each = lengths.emplace_back();
    each.out = Put(rank[0].get(), out, pulse);
    rank[0].Reset();
    each.err = Put(rank[1].get(), err, pulse);
    rank[1].Reset();
  }
  Clear();
  return lengths;
}

StreamSoFar RankOutputs::SoFar(size_t rank, int stream, uint64_t from, uint32_t most) const {
  const int fd = ranks_[rank][stream == 1 ? 0 : 1].get();
  struct stat info{};
  if (fstat(fd, &info) != 0) return {};
  return ReadPiece(fd, static_cast<uint64_t>(info.st_size), from, most);
}

void RankOutputs::Clear() {
  ranks_.clear();
  rlimit files;
  if (auto before = std::exchange(files_before_, std::nullopt);
      before && getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = *before;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

}  // namespace spate::shepherd
