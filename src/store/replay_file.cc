// The blocks come first, in the order in which they are written, then the image, which has their
// places, and at the end a foot of fixed size that says where the image is. So a file is written in
// one pass, and one that is cut has no foot.
#include "store/replay_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <string_view>
#include <utility>

#include "base/units.h"
#include "core/model/image.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/loaded_code.h"
#include "os/process.h"
#include "os/regular_file.h"

namespace spate::store {
namespace {

constexpr uint64_t kMagic = 0x31594c5045525053;  // "SPREPLY1"
constexpr size_t kPiece = 1 << 20;
// A writer that was killed leaves its file; one that takes so long is none.
constexpr Duration kUnfinished = Duration::Seconds(600);
constexpr std::string_view kUnfinishedName = ".new";

struct Foot {
  BlockPlace image;
  uint64_t program = 0;  // ProgramHash of the writer
  uint64_t magic = kMagic;
};

// Hash of the instructions that make an image, and read it.
uint64_t ProgramHash() {
  uint64_t hash = 0;
  for (std::string_view part : os::ProgramCode()) {
    hash = XXH3_64bits_withSeed(part.data(), part.size(), hash);
  }
  return hash;
}

BlockPlace PlaceOf(uint64_t offset, std::string_view bytes) {
  return {offset, bytes.size(), XXH3_64bits(bytes.data(), bytes.size())};
}

std::unexpected<Error> Damaged(const std::string& path) {
  return Fail(ErrorKind::kCorrupt, fmt::format("'{}' is not a replay of this job by this program",
                                               EscapeForScreen(path)));
}

class BlocksInFile final : public BlockSource {
 public:
  BlocksInFile(os::Fd fd, uint64_t size, std::string path)
      : fd_(std::move(fd)), size_(size), path_(std::move(path)) {}
  Result<std::string> Read(const BlockPlace& place) const override {
    if (place.offset > size_ || place.bytes > size_ - place.offset) return Damaged(path_);
    auto bytes = TRY(os::ReadAt(fd_.get(), place.offset, place.bytes, path_));
    if (PlaceOf(place.offset, bytes).hash != place.hash) return Damaged(path_);
    return bytes;
  }

 private:
  const os::Fd fd_;
  const uint64_t size_;
  const std::string path_;
};

class Writer {
 public:
  Writer(int fd, const std::string& name) : fd_(fd), name_(name) {}
  Result<BlockPlace> Put(std::string_view bytes) {
    BlockPlace place = PlaceOf(written_ + pending_.size(), bytes);
    pending_ += bytes;
    if (pending_.size() >= kPiece) TRY(Flush());
    return place;
  }
  Status Flush() {
    TRY(os::WriteAll(fd_, pending_, name_));
    written_ += pending_.size();
    pending_.clear();
    return {};
  }

 private:
  const int fd_;
  const std::string& name_;
  uint64_t written_ = 0;
  std::string pending_;
};

Status WriteAll(Writer& writer, const JobReplay& replay, const ReplayOrigin& origin) {
  std::string image;
  ImageWriter write(image);
  write(origin);
  image += TRY(replay.Save([&](std::string_view bytes) { return writer.Put(bytes); }));
  Foot foot{.image = TRY(writer.Put(image)), .program = ProgramHash()};
  std::string bytes;
  ImageWriter write_foot(bytes);
  write_foot(foot);
  TRY(writer.Put(bytes));
  return writer.Flush();
}

// Files of writers that were killed.
void RemoveUnfinished(const std::string& path, Instant now) {
  const std::string folder = os::DirName(path);
  const std::string begin = os::BaseName(path) + ".";
  auto files = os::ListDir(folder);
  if (!files) return;
  for (const os::DirEntry& file : *files) {
    if (!file.name.starts_with(begin) || !file.name.ends_with(kUnfinishedName)) continue;
    const std::string name = os::JoinPath(folder, file.name);
    auto info = os::StatLink(name);
    if (info && info->modified + kUnfinished < now) (void)os::RemoveFile(name);
  }
}

}  // namespace

Result<SavedReplay> OpenReplay(const std::string& path, JobId job) {
  auto fd = TRY(os::OpenOwnFile(path));
  const uint64_t size = TRY(os::StatFd(fd.get(), path)).size;
  if (size < sizeof(Foot)) return Damaged(path);
  auto end = TRY(os::ReadAt(fd.get(), size - sizeof(Foot), sizeof(Foot), path));
  Foot foot;
  ImageReader read_foot(end);
  read_foot(foot);
  if (!read_foot.AtEnd() || foot.magic != kMagic) return Damaged(path);
  if (foot.program != ProgramHash()) return Damaged(path);
  auto blocks = std::make_shared<const BlocksInFile>(std::move(fd), size, path);
  auto image = TRY(blocks->Read(foot.image));
  SavedReplay saved{std::make_unique<JobReplay>(job), {}};
  ImageReader read(image);
  read(saved.origin);
  if (!read.ok() || !saved.replay->Open(read.rest(), blocks)) return Damaged(path);
  return saved;
}

Status SaveReplay(const std::string& path, const JobReplay& replay, const ReplayOrigin& origin) {
  const std::string name = fmt::format("{}.{}{}", path, os::OwnPid(), kUnfinishedName);
  auto fd = TRY(os::OpenWrite(name, os::OpenHow::kCreateNew, 0600));
  Writer writer(fd.get(), name);
  Status written = WriteAll(writer, replay, origin);
  if (auto info = os::StatFd(fd.get(), name)) RemoveUnfinished(path, info->modified);
  if (Status closed = fd.Close(); written && !closed) written = std::move(closed);
  if (written) written = os::Rename(name, path);
  if (!written) (void)os::RemoveFile(name);
  return written;
}

}  // namespace spate::store
