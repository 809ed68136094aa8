#include "os/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "os/error.h"
#include "os/mounts.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

TEST(Error, KindsAndMessages) {
  struct Row {
    int error;
    ErrorKind kind;
    const char* message;
  };
  const Row kRows[] = {
      {ENOENT, ErrorKind::kNotFound, "cannot open 'a\\nb': No such file or directory"},
      {EACCES, ErrorKind::kPermission, "cannot open 'a\\nb': Permission denied"},
      {EPERM, ErrorKind::kPermission, "cannot open 'a\\nb': Operation not permitted"},
      {EROFS, ErrorKind::kPermission,
       "cannot open 'a\\nb': Read-only file system; choose a place that can be written to"},
      {EEXIST, ErrorKind::kExists, "cannot open 'a\\nb': File exists"},
      {ENOSPC, ErrorKind::kExhausted,
       "cannot open 'a\\nb': No space left on device; free some space there, or choose another "
       "place"},
      {EMFILE, ErrorKind::kExhausted,
       "cannot open 'a\\nb': Too many open files; raise this process's limit of open files "
       "(ulimit -n)"},
      {EDQUOT, ErrorKind::kExhausted, nullptr},
      {ENFILE, ErrorKind::kExhausted, nullptr},
      {EIO, ErrorKind::kIo, "cannot open 'a\\nb': Input/output error"},
  };
  for (const Row& row : kRows) {
    Error error = SystemError(row.error, "open", "a\nb");
    EXPECT_EQ(error.kind, row.kind) << row.error;
    if (row.message != nullptr) {
      EXPECT_EQ(error.message, row.message);
    }
  }
}

TEST(File, WriteReadAndBounds) {
  TempDir dir;
  std::string path = dir.Path("a");
  ASSERT_TRUE(WriteFile(path, "hello"));
  EXPECT_EQ(ReadFile(path, 5).value(), "hello");
  auto bounded = ReadFile(path, 4);
  ASSERT_FALSE(bounded);
  EXPECT_EQ(bounded.error().kind, ErrorKind::kInvalid);
  EXPECT_NE(bounded.error().message.find("is larger than 4 B"), std::string::npos);
  EXPECT_EQ(ReadFile(dir.Path("none"), 5).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(ReadFile(dir.path(), 5).error().kind, ErrorKind::kInvalid);
  std::string big(1000000, 'x');
  ASSERT_TRUE(WriteFile(path, big));
  EXPECT_EQ(ReadFile(path, big.size()).value(), big);
  // No size in advance.
  EXPECT_GT(ReadFile("/proc/self/maps", 1 << 20).value().size(), 100u);
}

TEST(File, OpenModes) {
  TempDir dir;
  std::string path = dir.Write("a", "12345");
  EXPECT_EQ(OpenWrite(path, OpenHow::kCreateNew).error().kind, ErrorKind::kExists);
  auto append = OpenWrite(path, OpenHow::kAppend).value();
  ASSERT_TRUE(WriteAll(append.get(), "6", path));
  auto both = OpenWrite(path, OpenHow::kReadWrite).value();
  ASSERT_TRUE(WriteAllAt(both.get(), "Z", 1, path));
  EXPECT_EQ(ReadAt(both.get(), 0, 100, path).value(), "1Z3456");
  EXPECT_EQ(ReadAt(both.get(), 4, 1, path).value(), "5");
  OpenWrite(path, OpenHow::kTruncate).value();
  EXPECT_EQ(Stat(path)->size, 0u);
}

TEST(File, AtomicWriteReplacesAndLeavesNoNeighbour) {
  TempDir dir;
  std::string path = dir.Write("a", "old");
  Fd old = OpenRead(path).value();
  ASSERT_TRUE(WriteFileAtomically(path, "new", 0600));
  EXPECT_EQ(ReadFile(path, 10).value(), "new");
  EXPECT_EQ(Stat(path)->permissions, 0600u);
  EXPECT_EQ(ReadToEnd(old.get(), 10, path).value(), "old");
  EXPECT_EQ(ListDir(dir.path())->size(), 1u);
  // A folder is in the way: the old state stays and nothing is left behind.
  ASSERT_TRUE(MakeDir(dir.Path("d")));
  EXPECT_FALSE(WriteFileAtomically(dir.Path("d"), "x"));
  EXPECT_EQ(ListDir(dir.path())->size(), 2u);
}

TEST(File, MakeDirs) {
  TempDir dir;
  ASSERT_TRUE(MakeDirs(dir.Path("a/b//c/")));
  ASSERT_TRUE(MakeDirs(dir.Path("a/b/c")));
  EXPECT_EQ(Stat(dir.Path("a/b/c"))->kind, FileKind::kDir);
  dir.Write("file", "");
  EXPECT_EQ(MakeDirs(dir.Path("file")).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(MakeDirs(dir.Path("file/x")).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(MakeDir(dir.Path("a")).error().kind, ErrorKind::kExists);
  ASSERT_TRUE(MakeSymlink("a", dir.Path("good")));
  EXPECT_TRUE(MakeDirs(dir.Path("good/d")));
  ASSERT_TRUE(MakeSymlink("gone", dir.Path("link")));
  for (const char* below : {"link", "link/x/y"}) {
    auto made = MakeDirs(dir.Path(below));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message,
              "cannot make the folder '" + dir.Path("link") +
                  "': it is a symbolic link to 'gone', which is missing; make that folder, or "
                  "remove the link");
  }
}

TEST(File, Paths) {
  struct Row {
    const char *path, *dir, *base;
  };
  for (const Row& row : {Row{"a/b", "a", "b"},
                         {"b", ".", "b"},
                         {"/b", "/", "b"},
                         {"/", "/", "/"},
                         {"a//b//", "a", "b"},
                         {"/a/b/", "/a", "b"}}) {
    EXPECT_EQ(DirName(row.path), row.dir) << row.path;
    EXPECT_EQ(BaseName(row.path), row.base) << row.path;
  }
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(AbsolutePath("/a/./b//../c/").value(), "/a/c");
  EXPECT_EQ(AbsolutePath("/..").value(), "/");
  EXPECT_EQ(AbsolutePath("x").value(), CurrentDir().value() + "/x");
}

TEST(File, ListIsSortedWithKinds) {
  TempDir dir;
  dir.Write("b", "");
  dir.Write("a/x", "");
  ASSERT_TRUE(MakeSymlink("nowhere", dir.Path("c")));
  auto list = ListDir(dir.path()).value();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].name, "a");
  EXPECT_EQ(list[0].kind, FileKind::kDir);
  EXPECT_EQ(list[1].kind, FileKind::kFile);
  EXPECT_EQ(list[2].kind, FileKind::kSymlink);
  EXPECT_EQ(ReadLink(dir.Path("c")).value(), "nowhere");
  EXPECT_FALSE(Exists(dir.Path("c")));
}

TEST(RemoveTree, DoesNotFollowLinks) {
  TempDir dir;
  std::string keep = dir.Write("keep/file", "x");
  dir.Write("tree/sub/file", "x");
  ASSERT_TRUE(MakeSymlink(dir.Path("keep"), dir.Path("tree/sub/link")));
  ASSERT_TRUE(MakeSymlink(dir.Path("keep"), dir.Path("link")));
  ASSERT_TRUE(RemoveTree(dir.Path("tree")));
  ASSERT_TRUE(RemoveTree(dir.Path("link")));
  EXPECT_TRUE(Exists(keep));
  EXPECT_FALSE(Exists(dir.Path("tree")));
  EXPECT_TRUE(RemoveTree(dir.Path("tree")));
  EXPECT_TRUE(RemoveTree(keep));
  EXPECT_FALSE(Exists(keep));
}

// For root: who owns a tree must not have others' files removed by moving them in.
TEST(RemoveTree, OfAnotherUserLeavesThirdOnesAlone) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  TempDir dir;
  std::string keep = dir.Write("tree/shared/theirs/file", "x");
  for (const char* name : {"tree", "tree/shared"}) {
    ASSERT_EQ(chown(dir.Path(name).c_str(), 65534, 65534), 0);
  }
  ASSERT_EQ(chown(dir.Path("tree/shared/theirs").c_str(), 65533, 65533), 0);
  EXPECT_FALSE(RemoveTree(dir.Path("tree")));
  EXPECT_TRUE(Exists(keep));
  ASSERT_EQ(chown(dir.Path("tree/shared/theirs").c_str(), 65534, 65534), 0);
  EXPECT_TRUE(RemoveTree(dir.Path("tree")));
  EXPECT_FALSE(Exists(dir.Path("tree")));
}

TEST(RemoveTree, AnyDepth) {
  TempDir dir;
  // Deeper than what descriptors or a path of PATH_MAX could reach.
  Fd at = OpenDir(dir.path()).value();
  ASSERT_EQ(mkdirat(at.get(), "deep", 0700), 0);
  at.Reset(openat(at.get(), "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 1500; ++i) {
    ASSERT_EQ(mkdirat(at.get(), "dddd", 0700), 0);
    at.Reset(openat(at.get(), "dddd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at.valid());
  }
  auto removed = RemoveTree(dir.Path("deep"));
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(Exists(dir.Path("deep")));
}

TEST(RemoveTree, FoldersWithoutRights) {
  TempDir dir;
  dir.Write("tree/locked/file", "x");
  dir.Write("tree/blind/file", "x");
  chmod(dir.Path("tree/locked").c_str(), 0500);
  chmod(dir.Path("tree/blind").c_str(), 0);
  chmod(dir.path().c_str(), 0777);
  // Root may do everything anyway, so the removal is done by an ordinary user where we are root.
  if (getuid() != 0) {
    EXPECT_TRUE(RemoveTree(dir.Path("tree")));
    return;
  }
  for (const char* name : {"", "tree", "tree/locked", "tree/blind"}) {
    ASSERT_EQ(chown(dir.Path(name).c_str(), 65534, 65534), 0);
  }
  pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
    _exit(RemoveTree(dir.Path("tree")) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(Exists(dir.Path("tree")));
}

TEST(FileLock, OneHolderAtATime) {
  TempDir dir;
  std::string path = dir.Path("lock");
  EXPECT_FALSE(FileLock::IsHeld(path).value());
  {
    FileLock lock = FileLock::TryLock(path, "pid 12 on host h").value();
    auto second = FileLock::TryLock(path, "other");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::kBusy);
    EXPECT_NE(second.error().message.find("pid 12 on host h"), std::string::npos);
    EXPECT_TRUE(FileLock::IsHeld(path).value());
    FileLock moved = std::move(lock);
    EXPECT_TRUE(FileLock::IsHeld(path).value());
  }
  EXPECT_FALSE(FileLock::IsHeld(path).value());
  EXPECT_EQ(FileLock::LastOwner(path), "pid 12 on host h");
  EXPECT_TRUE(FileLock::TryLock(path, "b"));
  EXPECT_EQ(FileLock::LastOwner(path), "b");
}

TEST(FileLock, IsAwaitedForAMoment) {
  TempDir dir;
  std::string path = dir.Path("lock");
  Pipe told = MakePipe().value();
  auto lock = std::make_unique<FileLock>(FileLock::TryLock(path, "parent").value());
  pid_t child = fork();
  if (child == 0) {
    lock.reset();  // the parent's descriptor holds it still
    (void)!write(told.write.get(), "b", 1);
    _exit(FileLock::TryLock(path, "child") ? 0 : 1);
  }
  char c = 0;
  ASSERT_EQ(ReadSome(told.read.get(), &c, 1, "pipe").value(), 1u);
  lock.reset();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(FileLock, GoesWithItsProcess) {
  TempDir dir;
  std::string path = dir.Path("lock");
  Pipe told = MakePipe().value();
  Pipe end = MakePipe().value();
  pid_t child = fork();
  if (child == 0) {
    auto lock = FileLock::TryLock(path, "child");
    (void)!write(told.write.get(), lock ? "y" : "n", 1);
    char c;
    end.write.Reset();
    (void)!read(end.read.get(), &c, 1);
    _exit(0);
  }
  char c = 0;
  ASSERT_EQ(ReadSome(told.read.get(), &c, 1, "pipe").value(), 1u);
  EXPECT_EQ(c, 'y');
  EXPECT_TRUE(FileLock::IsHeld(path).value());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(FileLock::IsHeld(path).value());
}

TEST(FileSystem, KindsOfThisMachine) {
  auto proc = FileSystemOf("/proc/self").value();
  EXPECT_EQ(proc.name, "proc");
  EXPECT_FALSE(proc.is_network);
  TempDir dir;
  auto temp = FileSystemOf(dir.Path("not/yet/there")).value();
  EXPECT_FALSE(temp.name.empty());
  auto space = SpaceOf(dir.Path("not/yet/there")).value();
  EXPECT_GT(space.free, 0u);
  EXPECT_LE(space.free, space.total);
  EXPECT_GT(space.free_files, 0u);
}

TEST(Mounts, Parse) {
  auto mounts = ParseMountInfo(
      "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,x=y\n"
      "garbage\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
      "1 2 x /a /b rw - t s o");
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(mounts[0].point, "/mnt 2");
  EXPECT_EQ(mounts[0].root, "/mnt1");
  EXPECT_EQ(mounts[0].type, "ext3");
  EXPECT_EQ(mounts[0].device_major, 98u);
  EXPECT_EQ(mounts[0].super_options, "rw,x=y");
  EXPECT_TRUE(HasOption(mounts[1].options, "relatime"));
  EXPECT_FALSE(HasOption(mounts[1].options, "rel"));
}

TEST(Fd, WriteAllWaitsOnAFullPipe) {
  Pipe pipe = MakePipe().value();
  ASSERT_TRUE(SetNonBlocking(pipe.write.get(), true));
  std::string sent(1 << 20, 'a');
  sent.back() = 'z';
  std::string got;
  std::thread reader([&] { got = ReadToEnd(pipe.read.get(), 2 << 20, "pipe").value(); });
  EXPECT_TRUE(WriteAll(pipe.write.get(), sent, "pipe"));
  EXPECT_TRUE(pipe.write.Close());
  reader.join();
  EXPECT_EQ(got, sent);
  EXPECT_TRUE(pipe.write.Close());
}

TEST(MappedFile, BytesAndEmpty) {
  TempDir dir;
  std::string path = dir.Write("a", "hello");
  MappedFile map = MappedFile::Map(OpenRead(path)->get(), path).value();
  EXPECT_EQ(map.bytes(), "hello");
  std::string empty = dir.Write("b", "");
  map = MappedFile::Map(OpenRead(empty)->get(), empty).value();
  EXPECT_EQ(map.bytes(), "");
}

}  // namespace
}  // namespace spate::os
