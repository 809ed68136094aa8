// The functions that SQLite calls. A process is one thread, so locks only keep its connections
// apart: who holds what is looked up among a file's handles.
#include "sim/sim_files.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

namespace spate::sim {

struct SimFiles::File {
  // Not synced: the bytes from `at` on, before and after, and the sizes of the file.
  struct Write {
    size_t at = 0;
    std::string before, after;
    size_t size_before = 0, size_after = 0;

    // True for the head of a log's frame that ends a commit, which names the size of the database
    // (fileformat2.html of SQLite, 4.1). Before it only the log's own head may be synced.
    bool EndsCommit() const {
      constexpr size_t kFrameHead = 24;
      return after.size() == kFrameHead && after.substr(4, 4) != std::string(4, '\0');
    }
  };
  std::string bytes;
  std::vector<Write> unsynced;
  bool dead = false;  // its process is
  std::set<Handle*> handles;
  std::vector<std::unique_ptr<char[]>> shared;  // memory of the log's index

  void Put(size_t at, std::string_view data, size_t size) {
    bytes.resize(std::max(size, at + data.size()));
    data.copy(bytes.data() + at, data.size());
    bytes.resize(size);
  }
  void Change(size_t at, std::string_view data, size_t size) {
    const size_t from = std::min(at, bytes.size());
    const size_t count = size < bytes.size() ? std::string::npos : data.size();
    unsynced.push_back({at, bytes.substr(from, count), std::string(data), bytes.size(), size});
    Put(at, data, size);
  }
};

// SQLite gives the memory, and takes it back after Close.
struct SimFiles::Handle {
  sqlite3_file base = {};
  SimFiles* files = nullptr;
  std::shared_ptr<File> file;
  int lock = SQLITE_LOCK_NONE;
  int shares = 0, owns = 0;  // locks of the log's index, as bits
};

bool SimFiles::MayWrite(bool syncs) {
  if (left_ > 0) return left_-- > 0;
  refused_ = refused_ || !syncs;
  return false;
}

struct SimFiles::Calls {
  static Handle& Of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }
  static SimFiles& Of(sqlite3_vfs* vfs) { return *static_cast<SimFiles*>(vfs->pAppData); }

  static int Close(sqlite3_file* file) {
    Of(file).file->handles.erase(&Of(file));
    Of(file).~Handle();
    return SQLITE_OK;
  }
  static int Read(sqlite3_file* file, void* to, int count, sqlite3_int64 from) {
    const std::string& bytes = Of(file).file->bytes;
    const auto wanted = static_cast<size_t>(count);
    const size_t at = std::min(static_cast<size_t>(from), bytes.size());
    std::memset(to, 0, wanted);
    return bytes.copy(static_cast<char*>(to), wanted, at) == wanted ? SQLITE_OK
                                                                    : SQLITE_IOERR_SHORT_READ;
  }
  static int Change(sqlite3_file* file, size_t at, std::string_view data, bool cuts) {
    File& of = *Of(file).file;
    if (of.dead || !Of(file).files->MayWrite(/*syncs=*/false)) return SQLITE_FULL;
    of.Change(at, data, cuts ? at : std::max(of.bytes.size(), at + data.size()));
    return SQLITE_OK;
  }
  static int Write(sqlite3_file* file, const void* data, int count, sqlite3_int64 to) {
    const std::string_view bytes(static_cast<const char*>(data), static_cast<size_t>(count));
    return Change(file, static_cast<size_t>(to), bytes, /*cuts=*/false);
  }
  static int Truncate(sqlite3_file* file, sqlite3_int64 size) {
    return Change(file, static_cast<size_t>(size), "", /*cuts=*/true);
  }
  static int Sync(sqlite3_file* file, int) {
    File& of = *Of(file).file;
    if (of.dead || !Of(file).files->MayWrite(/*syncs=*/true)) return SQLITE_IOERR_FSYNC;
    of.unsynced.clear();
    return SQLITE_OK;
  }
  static int Size(sqlite3_file* file, sqlite3_int64* size) {
    *size = static_cast<sqlite3_int64>(Of(file).file->bytes.size());
    return SQLITE_OK;
  }

  // The last connection to close is the only one. All else is up to the locks of the log's index.
  static int Lock(sqlite3_file* file, int level) {
    const Handle& own = Of(file);
    const bool alone = std::ranges::all_of(own.file->handles, [&](const Handle* other) {
      return other == &own || other->lock == SQLITE_LOCK_NONE;
    });
    if (level > SQLITE_LOCK_SHARED && (own.file->dead || !alone)) return SQLITE_BUSY;
    Of(file).lock = std::max(own.lock, level);
    return SQLITE_OK;
  }
  static int Unlock(sqlite3_file* file, int level) {
    Of(file).lock = std::min(Of(file).lock, level);
    return SQLITE_OK;
  }
  static int Control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int Traits(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

  static int MapShared(sqlite3_file* file, int region, int size, int extend, void volatile** to) {
    auto& shared = Of(file).file->shared;
    const auto at = static_cast<size_t>(region);
    while (extend != 0 && shared.size() <= at) {
      shared.push_back(std::make_unique<char[]>(static_cast<size_t>(size)));
    }
    *to = at < shared.size() ? shared[at].get() : nullptr;
    return SQLITE_OK;
  }
  static int LockShared(sqlite3_file* file, int first, int count, int how) {
    Handle& own = Of(file);
    const int bits = ((1 << count) - 1) << first;
    if ((how & SQLITE_SHM_UNLOCK) != 0) {
      own.shares &= ~bits;
      own.owns &= ~bits;
      return SQLITE_OK;
    }
    const bool alone = (how & SQLITE_SHM_EXCLUSIVE) != 0;
    for (const Handle* other : own.file->handles) {
      const int held = other->owns | (alone ? other->shares : 0);
      if (other != &own && (held & bits) != 0) return SQLITE_BUSY;
    }
    (alone ? own.owns : own.shares) |= bits;
    return SQLITE_OK;
  }
  static void Barrier(sqlite3_file*) {}
  static int UnmapShared(sqlite3_file* file, int remove) {
    if (remove != 0) Of(file).file->shared.clear();
    return SQLITE_OK;
  }

  static int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* got) {
    static const sqlite3_io_methods kMethods = {.iVersion = 2,
                                                .xClose = Close,
                                                .xRead = Read,
                                                .xWrite = Write,
                                                .xTruncate = Truncate,
                                                .xSync = Sync,
                                                .xFileSize = Size,
                                                .xLock = Lock,
                                                .xUnlock = Unlock,
                                                .xFileControl = Control,
                                                .xDeviceCharacteristics = Traits,
                                                .xShmMap = MapShared,
                                                .xShmLock = LockShared,
                                                .xShmBarrier = Barrier,
                                                .xShmUnmap = UnmapShared};
    auto& files = Of(vfs).files_;
    const bool there = name != nullptr && files.contains(name);
    file->pMethods = nullptr;
    if (!there && (flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    auto of = there ? files[name] : std::make_shared<File>();
    if (name != nullptr) files[name] = of;
    of->handles.insert(new (file) Handle{{&kMethods}, &Of(vfs), of});
    if (got != nullptr) *got = flags;
    return SQLITE_OK;
  }
  static int Delete(sqlite3_vfs* vfs, const char* name, int) {
    return Of(vfs).files_.erase(name) > 0 ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
  }
  static int Access(sqlite3_vfs* vfs, const char* name, int, int* there) {
    *there = Of(vfs).files_.contains(name) ? 1 : 0;
    return SQLITE_OK;
  }
  static int FullName(sqlite3_vfs*, const char* name, int size, char* to) {
    sqlite3_snprintf(size, to, "%s", name);
    return SQLITE_OK;
  }
  static int Random(sqlite3_vfs* vfs, int size, char* to) {
    std::generate_n(to, size, [&] { return static_cast<char>(Of(vfs).prng_.Below(256)); });
    return size;
  }
  static int Sleep(sqlite3_vfs*, int micros) { return micros; }
  static int Now(sqlite3_vfs*, sqlite3_int64* to) {
    *to = 0;
    return SQLITE_OK;
  }
};

SimFiles::SimFiles(uint64_t seed) : prng_(seed) {
  vfs_ = {.iVersion = 2,
          .szOsFile = sizeof(Handle),
          .mxPathname = 256,
          .zName = "spate-sim",
          .pAppData = this,
          .xOpen = Calls::Open,
          .xDelete = Calls::Delete,
          .xAccess = Calls::Access,
          .xFullPathname = Calls::FullName,
          .xRandomness = Calls::Random,
          .xSleep = Calls::Sleep,
          .xCurrentTimeInt64 = Calls::Now};
  sqlite3_vfs_register(&vfs_, /*makeDflt=*/1);
}

void SimFiles::Store(const std::string& name, std::string bytes) {
  files_[name] = std::make_shared<File>();
  files_[name]->bytes = std::move(bytes);
  sqlite3_randomness(0, nullptr);
}

std::string SimFiles::Get(const std::string& name) const { return files_.at(name)->bytes; }

bool SimFiles::Crash() {
  constexpr size_t kSector = 512;
  left_ = UINT64_MAX;
  bool any = false, whole = !std::exchange(refused_, false);
  const bool keeps_some = prng_.Chance(50);
  const bool keeps_all = keeps_some && prng_.Chance(30);
  for (auto& [name, file] : files_) {
    auto kept = std::make_shared<File>();
    kept->bytes = file->bytes;
    if (!keeps_all) {
      for (const File::Write& each : std::views::reverse(file->unsynced)) {
        kept->Put(std::min(each.at, each.size_before), each.before, each.size_before);
      }
    }
    for (const File::Write& each : file->unsynced) {
      if (keeps_all || !keeps_some || prng_.Chance(50)) continue;
      std::string_view data = each.after;
      if (prng_.Chance(50)) data = data.substr(0, prng_.Below(data.size() / kSector + 1) * kSector);
      kept->Put(each.at, data, std::max(each.at + data.size(), kept->bytes.size()));
    }
    if (name.ends_with("-wal") && std::ranges::any_of(file->unsynced, &File::Write::EndsCommit)) {
      any = true;
      whole = whole && kept->bytes == file->bytes;
    }
    file->dead = true;
    file = std::move(kept);
  }
  return any && whole;
}

}  // namespace spate::sim
