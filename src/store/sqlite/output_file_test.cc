#include "store/sqlite/output_file.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "os/temp_dir.h"

namespace spate::store {
namespace {

OutputStream Inline(const std::string& bytes) {
  return {.bytes = bytes, .spool = "", .total = bytes.size()};
}

std::string Content(const os::TempDir& temp) {
  return os::ReadFile(temp.Path("output"), 10 << 20).value();
}

// The output's place, without its checksums.
KeptOutput PlaceOf(Result<KeptOutput> kept) {
  kept->sums.clear();
  return *kept;
}

void Flip(const os::TempDir& temp, size_t at) {
  std::string bytes = Content(temp);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  temp.Write("output", bytes);
}

TEST(OutputFile, StdoutThenStderr) {
  os::TempDir temp;
  OutputFile file(temp.Path("output"), 1000);
  ASSERT_TRUE(file.Open(0));
  EXPECT_EQ(PlaceOf(file.Add({Inline("out1"), Inline("err1")})), (KeptOutput{0, 4, 4}));
  EXPECT_EQ(PlaceOf(file.Add({Inline(""), Inline("e")})), (KeptOutput{8, 0, 1}));
  EXPECT_EQ(PlaceOf(file.Add({Inline(""), Inline("")})), KeptOutput());
  ASSERT_TRUE(file.Sync());
  EXPECT_EQ(Content(temp), "out1err1e");
  EXPECT_EQ(file.end(), 9u);
}

TEST(OutputFile, IsCutBackOrFilledUpToTheDurableEnd) {
  os::TempDir temp;
  temp.Write("output", "durable, and torn");
  OutputFile file(temp.Path("output"), 1000);
  ASSERT_TRUE(file.Open(7));
  EXPECT_EQ(file.Add({Inline("!"), {}})->position, 7u);
  ASSERT_TRUE(file.Sync());
  EXPECT_EQ(Content(temp), "durable!");
  OutputFile longer(temp.Path("output"), 1000);
  ASSERT_TRUE(longer.Open(10));
  EXPECT_EQ(longer.Add({Inline("x"), {}})->position, 10u);
  ASSERT_TRUE(longer.Sync());
  EXPECT_EQ(Content(temp), std::string("durable!\0\0x", 11));
}

TEST(OutputFile, LongStreamsAreKeptWholeWithinTheLimit) {
  os::TempDir temp;
  std::string text;
  for (int i = 0; i < 400'000; ++i) text += std::to_string(i);
  std::string path = temp.Write("spool/1", text);
  OutputFile file(temp.Path("output"), text.size() + 200'000);
  ASSERT_TRUE(file.Open(0));
  EXPECT_EQ(PlaceOf(file.Add({Inline("a"), Inline("b")})), (KeptOutput{0, 1, 1}));
  OutputStream spooled{.bytes = "", .spool = path, .total = text.size()};
  EXPECT_EQ(PlaceOf(file.Add({spooled, Inline("e")})), (KeptOutput{2, text.size(), 1}));
  // A file that is gone leaves no trace.
  OutputStream gone{.bytes = "", .spool = temp.Path("gone"), .total = kWholeStream + 1};
  EXPECT_EQ(PlaceOf(file.Add({gone, Inline("f")})), (KeptOutput{text.size() + 3, 0, 1}));
  // Beyond the limit the ends are kept.
  EXPECT_EQ(file.why(), NotKept::kNone);
  EXPECT_EQ(file.Add({spooled, {}})->stdout_bytes, kWholeStream);
  EXPECT_EQ(file.why(), NotKept::kBound);
  ASSERT_TRUE(file.Sync());
  EXPECT_EQ(Content(temp).substr(0, text.size() + 4), "ab" + text + "ef");
}

TEST(OutputFile, LongStreamsKeepTheirEndsBeyondTheLimit) {
  os::TempDir temp;
  std::string long_text(100 << 10, 'a');
  long_text += std::string(100 << 10, 'z');
  std::string whole(kWholeStream, 'w');
  std::string long_path = temp.Write("spool/1", long_text);
  std::string whole_path = temp.Write("spool/2", whole);
  OutputFile file(temp.Path("output"), 100 + long_text.size() + 2 * kWholeStream);
  ASSERT_TRUE(file.Open(0));
  ASSERT_TRUE(file.Add({Inline(std::string(100, '.')), {}}));
  auto kept = file.Add({{.bytes = "", .spool = long_path, .total = long_text.size()},
                        {.bytes = "", .spool = whole_path, .total = whole.size()}});
  ASSERT_TRUE(kept);
  EXPECT_EQ(PlaceOf(kept), (KeptOutput{100, long_text.size(), kWholeStream}));
  auto inlined = file.Add({Inline(long_text), {}});
  EXPECT_EQ(inlined->stdout_bytes, kWholeStream);
  ASSERT_TRUE(file.Sync());
  std::string ends = std::string(kStreamEnd, 'a') + std::string(kStreamEnd, 'z');
  EXPECT_EQ(Content(temp), std::string(100, '.') + long_text + whole + ends);
}

TEST(OutputFile, ASpoolFileThatIsGoneKeepsNothing) {
  os::TempDir temp;
  OutputFile file(temp.Path("output"), 1 << 20);
  ASSERT_TRUE(file.Open(0));
  auto kept = file.Add({{.bytes = "", .spool = temp.Path("gone"), .total = 70000}, Inline("e")});
  ASSERT_TRUE(kept);
  EXPECT_EQ(PlaceOf(kept), (KeptOutput{0, 0, 1}));
}

TEST(OutputFile, TheLimitOfTheJob) {
  os::TempDir temp;
  OutputFile file(temp.Path("output"), 10);
  ASSERT_TRUE(file.Open(0));
  EXPECT_EQ(file.Add({Inline("12345678"), {}})->bytes(), 8u);
  EXPECT_EQ(PlaceOf(file.Add({Inline("abc"), {}})), KeptOutput());
  ASSERT_TRUE(file.Sync());
  EXPECT_EQ(Content(temp), "12345678");
}

TEST(OutputFile, FilesOfTasksAreWholeWhateverTheLimit) {
  os::TempDir temp;
  std::string pack(kWholeStream + 5, 'p');
  OutputStream spooled{.bytes = "", .spool = temp.Write("spool/1", pack), .total = pack.size()};
  OutputFile file(temp.Path("output"), 10);
  ASSERT_TRUE(file.Open(0));
  EXPECT_EQ(PlaceOf(file.Add({Inline("out"), Inline("e"), spooled})),
            (KeptOutput{0, 3, 1, pack.size()}));
  EXPECT_EQ(PlaceOf(file.Add({Inline("out"), {}, Inline("small")})),
            (KeptOutput{4 + pack.size(), 0, 0, 5}));
  ASSERT_TRUE(file.Sync());
  EXPECT_EQ(Content(temp), "oute" + pack + "small");
  AttemptEntry entry;
  entry.kept = {4 + pack.size() - 4, 3, 1, 5};
  std::string read;
  auto extent =
      OutputReader(temp.Path("output"))
          .Read(entry, Stream::kFiles, [&](std::string_view bytes, uint64_t) { read += bytes; });
  ASSERT_TRUE(extent);
  EXPECT_EQ(read, "small");
  EXPECT_EQ(extent->kept, 5u);
  // A result must not be lost in silence.
  OutputStream gone{.bytes = "", .spool = temp.Path("gone"), .total = 70'000};
  EXPECT_FALSE(file.Add({{}, {}, gone}));
}

TEST(OutputFile, MoreThanTheBuffer) {
  os::TempDir temp;
  OutputFile file(temp.Path("output"), 100 << 20);
  ASSERT_TRUE(file.Open(0));
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    std::string text(60'000, static_cast<char>('a' + i % 26));
    EXPECT_EQ(file.Add({Inline(text), {}})->position, expected.size());
    expected += text;
  }
  ASSERT_TRUE(file.Sync());
  EXPECT_EQ(Content(temp), expected);
}

// Each stream by itself, inline and from a file, in one piece and in many.
TEST(OutputFile, AFlippedBitIsFound) {
  os::TempDir temp;
  const std::string large(3 << 20, 'x');
  OutputStream spooled{.bytes = "", .spool = temp.Write("spool/1", large), .total = large.size()};
  OutputFile file(temp.Path("output"), 100 << 20);
  ASSERT_TRUE(file.Open(0));
  const TaskOutput outputs[] = {{Inline("out"), Inline("err"), Inline("files")},
                                {Inline(""), Inline("err"), Inline("files")},
                                {spooled, Inline("err"), spooled},
                                {Inline(""), spooled, {}}};
  std::vector<AttemptEntry> attempts;
  for (const TaskOutput& output : outputs) {
    AttemptEntry& entry = attempts.emplace_back();
    entry.kept = *file.Add(output);
    entry.record.end.stdout_total = entry.kept.stdout_bytes;
    entry.record.end.stderr_total = entry.kept.stderr_bytes;
  }
  ASSERT_TRUE(file.Sync());
  OutputReader reader(temp.Path("output"));
  for (const AttemptEntry& attempt : attempts) {
    EXPECT_TRUE(reader.Check(attempt));
    const KeptOutput& kept = attempt.kept;
    size_t begin = kept.position;
    for (auto [stream, bytes] : {std::pair{Stream::kStdout, kept.stdout_bytes},
                                 {Stream::kStderr, kept.stderr_bytes},
                                 {Stream::kFiles, kept.files_bytes}}) {
      for (size_t at : {size_t{0}, bytes / 2, bytes - 1}) {
        if (bytes == 0) continue;
        Flip(temp, begin + at);
        uint64_t seen = 0;
        auto read = OutputReader(temp.Path("output"))
                        .Read(attempt, stream,
                              [&](std::string_view piece, uint64_t) { seen += piece.size(); });
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().kind, ErrorKind::kCorrupt);
        EXPECT_LT(seen, bytes);
        EXPECT_FALSE(OutputReader(temp.Path("output")).Check(attempt));
        Flip(temp, begin + at);
      }
      begin += bytes;
    }
    // An older journal has no sums.
    AttemptEntry old = attempt;
    old.kept.sums.clear();
    Flip(temp, kept.position);
    EXPECT_TRUE(OutputReader(temp.Path("output")).Check(old));
    Flip(temp, kept.position);
  }
}

}  // namespace
}  // namespace spate::store
