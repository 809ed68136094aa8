// The json form, field by field: a field that is renamed, gone or new fails here, and then
// docs/formats/json.md must change with it.
#include "view/json_view.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "view/testing_view.h"

namespace spate::cli {
namespace {

using engine::Verdict;
using Json = nlohmann::json;
using std::string_literals::operator""s;

class JsonViewTest : public testing::Test {
 protected:
  JsonViewTest()
      : view_(screen_, TestTexts(),
              {.spill_folder = folder_.path(), .hints = {.files = {"jobs.lst"}}}) {}

  // The one line that was written since the last call.
  Json Line() {
    EXPECT_EQ(std::count(screen_.out.begin(), screen_.out.end(), '\n'), 1) << screen_.out;
    EXPECT_TRUE(screen_.out.ends_with("}\n"));
    Json line = Json::parse(screen_.out);
    screen_.out.clear();
    return line;
  }
  void End(const AttemptEnd& end, Verdict verdict, const TaskOutputPtr& output) {
    view_.OnEnded({.end = end, .verdict = verdict, .output = output, .now = kTestStart});
  }
  static std::set<std::string> Keys(const Json& line) {
    std::set<std::string> keys;
    for (const auto& [key, value] : line.items()) keys.insert(key);
    return keys;
  }

  TestFolder folder_;
  FakeScreen screen_;
  JsonView view_;
};

TEST_F(JsonViewTest, Run) {
  view_.OnStart(StartOf(10));
  Json line = Line();
  EXPECT_EQ(Keys(line), (std::set<std::string>{"type", "v", "job", "name", "total", "open",
                                               "done_before", "resumed", "slots", "time"}));
  EXPECT_EQ(line["type"], "run");
  EXPECT_EQ(line["v"], 2);
  EXPECT_EQ(line["job"], 12);
  EXPECT_EQ(line["name"], "jobs.lst");
  EXPECT_EQ(line["total"], 10);
  EXPECT_EQ(line["open"], false);
  EXPECT_EQ(line["slots"], 2);
  EXPECT_EQ(line["time"], 1'700'000'000);
}

TEST_F(JsonViewTest, Start) {
  view_.OnNews(TaskStarted{{JobId(12), 4, Attempt(2)}, 3}, kTestStart + Duration::Millis(250));
  Json line = Line();
  EXPECT_EQ(Keys(line), (std::set<std::string>{"type", "v", "task", "attempt", "slot", "time"}));
  EXPECT_EQ(line["task"], 5);
  EXPECT_EQ(line["attempt"], 2);
  EXPECT_EQ(line["slot"], 3);
  EXPECT_DOUBLE_EQ(line["time"], 1'700'000'000.25);
}

TEST_F(JsonViewTest, End) {
  AttemptEnd end = EndOf(16, 2);
  end.cause = Cause::kSignal;
  end.status = 9;
  end.written_bytes = 4096;
  end.stdout_total = 4;
  end.left_behind = 1;
  end.not_kept = NotKept::kDisk;
  end.note = "left sleep";
  End(end, Verdict::kFailed, Wrote("a\"\n\x01", "ä"));
  Json line = Line();
  EXPECT_EQ(Keys(line),
            (std::set<std::string>{"type",          "v",           "task",          "attempt",
                                   "verdict",       "cause",       "status",        "command",
                                   "slot",          "start",       "wall",          "user",
                                   "system",        "peak_memory", "memory_source", "read_bytes",
                                   "written_bytes", "left_behind", "note",          "stdout_bytes",
                                   "stderr_bytes",  "not_kept",    "stdout",        "stderr"}));
  EXPECT_EQ(line["type"], "end");
  EXPECT_EQ(line["task"], 17);
  EXPECT_EQ(line["attempt"], 2);
  EXPECT_EQ(line["verdict"], "failed");
  EXPECT_EQ(line["cause"], "signal");
  EXPECT_EQ(line["status"], 9);
  EXPECT_EQ(line["command"], "cmd 17");
  EXPECT_EQ(line["slot"], 1);
  EXPECT_EQ(line["start"], 1'700'000'000);
  EXPECT_DOUBLE_EQ(line["wall"], 1.234);
  EXPECT_DOUBLE_EQ(line["user"], 0.02);
  EXPECT_DOUBLE_EQ(line["system"], 0.004);
  EXPECT_EQ(line["peak_memory"], 3 << 20);
  EXPECT_EQ(line["memory_source"], "cgroup");
  EXPECT_TRUE(line["read_bytes"].is_null());
  EXPECT_EQ(line["written_bytes"], 4096);
  EXPECT_EQ(line["left_behind"], 1);
  EXPECT_EQ(line["note"], "left sleep");
  EXPECT_EQ(line["not_kept"], "disk");
  EXPECT_EQ(line["stdout_bytes"], 4);
  EXPECT_EQ(line["stdout"], "a\"\n\x01");
  EXPECT_EQ(line["stderr"], "ä");
}

TEST_F(JsonViewTest, TagsAreAField) {
  for (bool is_text : {false, true}) {
    ViewTexts texts = TestTexts();
    texts.values = [](TaskIndex) { return std::vector<std::string>{"a", "b c"}; };
    if (is_text) texts.tag = [](TaskIndex index) { return "T" + std::to_string(index); };
    JsonView view(screen_, texts, {.tag = true});
    AttemptEnd end = EndOf(3);
    view.OnEnded({.end = end, .output = nullptr, .now = kTestStart});
    EXPECT_EQ(Line()["tag"], is_text ? "T3" : "a b c");
  }
}

TEST_F(JsonViewTest, BytesThatAreNoTextAreBase64) {
  End(EndOf(0), Verdict::kSucceeded, Wrote("\xff\x00\x01"s + "a", "ok"));
  Json line = Line();
  EXPECT_FALSE(line.contains("stdout"));
  EXPECT_EQ(line["stdout_base64"], "/wABYQ==");
  EXPECT_EQ(line["stderr"], "ok");
}

TEST_F(JsonViewTest, NoOutputIsEmptyText) {
  End(EndOf(0), Verdict::kSucceeded, nullptr);
  Json line = Line();
  EXPECT_EQ(line["stdout"], "");
  EXPECT_EQ(line["stderr"], "");
}

TEST_F(JsonViewTest, LongOutputGoesThroughFiles) {
  std::string text;
  while (text.size() < 600'000) text += "zeile \"ä\"\n";
  std::string binary(300'001, '\xfe');
  auto output = std::make_shared<TaskOutput>();
  output->out = Spooled(folder_.Put("out", text), text.size());
  output->err = Spooled(folder_.Put("err", binary), binary.size());
  End(EndOf(0), Verdict::kSucceeded, output);
  EXPECT_EQ(screen_.files_written, 2);
  Json line = Line();
  EXPECT_EQ(line["stdout"], text);
  EXPECT_EQ(line["stderr_base64"].get<std::string>().size(), 400'004u);
  EXPECT_TRUE(line["stderr_base64"].get<std::string>().ends_with("/g=="));
  EXPECT_EQ(folder_.CountFiles(), 2u);  // the spools; the escaped copies are gone
}

TEST_F(JsonViewTest, WithResultsThereIsNoOutput) {
  JsonView view(screen_, TestTexts(), {.show_output = false});
  AttemptEnd end = EndOf(0);
  view.OnEnded({.end = end, .output = Wrote("x"), .now = kTestStart});
  Json line = Line();
  EXPECT_FALSE(line.contains("stdout"));
  EXPECT_TRUE(line.contains("stdout_bytes"));
}

TEST_F(JsonViewTest, News) {
  using Set = std::set<std::string>;
  view_.OnNews(TaskSlow{{JobId(12), 4, Attempt(2)}}, kTestStart);
  EXPECT_EQ(Keys(Line()), (Set{"type", "v", "task", "attempt", "time"}));
  view_.OnNews(
      TaskExceeded{{JobId(12), 4, Attempt(2)}, {Resource::kMemory, OnExcess::kWarn, 3000, 2000}},
      kTestStart);
  Json exceeded = Line();
  EXPECT_EQ(Keys(exceeded),
            (Set{"type", "v", "task", "attempt", "resource", "action", "used", "limit", "time"}));
  EXPECT_EQ(exceeded["resource"], "memory");
  EXPECT_EQ(exceeded["action"], "warn");
  view_.OnNews(TaskLeftRunning{{JobId(12), 4, Attempt(2)}, "sort (pid 12)"}, kTestStart);
  Json left = Line();
  EXPECT_EQ(Keys(left), (Set{"type", "v", "task", "attempt", "processes", "time"}));
  EXPECT_EQ(left["type"], "left_running");
  EXPECT_EQ(left["processes"], "sort (pid 12)");
  view_.OnNews(StartsPaused{"low memory"}, kTestStart);
  Json pause = Line();
  EXPECT_EQ(Keys(pause), (Set{"type", "v", "reason", "time"}));
  EXPECT_EQ(pause["reason"], "low memory");
  view_.OnNews(StartsPaused{}, kTestStart);
  EXPECT_TRUE(Line()["reason"].is_null());
  view_.OnNews(HoldNews{engine::HoldReason::kMaxFailures, 3}, kTestStart);
  Json held = Line();
  EXPECT_EQ(Keys(held), (Set{"type", "v", "reason", "running", "time"}));
  EXPECT_EQ(held["reason"], "max-failures");
  view_.OnNews(TotalChanged{20, true}, kTestStart);
  EXPECT_EQ(Keys(Line()), (Set{"type", "v", "total", "open", "time"}));
  view_.OnNews(Remark{"hello\xff"}, kTestStart);
  EXPECT_EQ(Keys(Line()), (Set{"type", "v", "error", "text_base64", "time"}));
  EXPECT_EQ(screen_.err, "");
  view_.OnNews(Remark{"disk full", true}, kTestStart);
  EXPECT_EQ(Line()["text"], "disk full");
  EXPECT_EQ(screen_.err, "spate: disk full\n");
}

TEST_F(JsonViewTest, Finish) {
  view_.OnStart(StartOf(10));
  screen_.out.clear();
  view_.OnFinish({.how = RunEnd::kInterrupted,
                  .counts = {.total = 10, .queued = 3, .leased = 1, .succeeded = 4, .failed = 2},
                  .now = kTestStart + Duration::Seconds(2)});
  Json line = Line();
  EXPECT_EQ(Keys(line),
            (std::set<std::string>{"type", "v", "job", "how", "total", "succeeded", "failed",
                                   "unknown", "cancelled", "not_done", "tried_again", "wall", "cpu",
                                   "peak_memory", "retry_command", "resume_command", "blamed",
                                   "retry_elsewhere_command", "time"}));
  EXPECT_EQ(line["how"], "interrupted");
  EXPECT_TRUE(line["retry_elsewhere_command"].is_null());
  EXPECT_EQ(line["blamed"], Json::array());
  EXPECT_EQ(line["not_done"], 4);
  EXPECT_EQ(line["wall"], 2);
  EXPECT_EQ(line["retry_command"], "spate job retry 12");
  EXPECT_EQ(line["resume_command"], "spate run --resume jobs.lst");
  view_.OnNews(HoldNews{engine::HoldReason::kMaxFailures}, kTestStart);
  screen_.out.clear();
  view_.OnFinish({.counts = {.total = 2, .queued = 1, .failed = 1}, .now = kTestStart});
  EXPECT_EQ(Line()["resume_command"], "spate job retry 12");
  view_.OnFinish({.counts = {.total = 1, .succeeded = 1}, .now = kTestStart});
  line = Line();
  EXPECT_TRUE(line["retry_command"].is_null());
  EXPECT_TRUE(line["resume_command"].is_null());
}

// Every key of the tests above is explained in the document.
TEST(JsonDocumentTest, NamesEveryField) {
  const char* source = std::getenv("SPATE_SOURCE");
  if (!source) GTEST_SKIP() << "needs SPATE_SOURCE";
  std::ifstream file(std::string(source) + "/docs/formats/json.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const char* key :
       {"type",        "v",           "job",           "name",          "total",
        "open",        "done_before", "resumed",       "slots",         "time",
        "task",        "attempt",     "slot",          "verdict",       "cause",
        "status",      "command",     "start",         "wall",          "user",
        "system",      "peak_memory", "memory_source", "read_bytes",    "written_bytes",
        "left_behind", "note",        "stdout_bytes",  "stderr_bytes",  "stdout",
        "stderr",      "reason",      "running",       "error",         "text",
        "how",         "succeeded",   "failed",        "unknown",       "cancelled",
        "not_done",    "tried_again", "cpu",           "retry_command", "resume_command",
        "tag",         "not_kept"}) {
    EXPECT_NE(text.str().find("`" + std::string(key) + "`"), std::string::npos) << key;
  }
}

TEST(JsonLineTest, Utf8) {
  const std::pair<std::string, bool> kCases[] = {{"", true},
                                                 {"abc", true},
                                                 {"ä€😀", true},
                                                 {"\x80", false},
                                                 {"\xc3", false},
                                                 {"\xc0\xaf", false},
                                                 {"\xe0\x80\x80", false},
                                                 {"\xed\xa0\x80", false},
                                                 {"\xf4\x90\x80\x80", false},
                                                 {"\xff", false},
                                                 {"\xf4\x8f\xbf\xbf", true}};
  for (const auto& [text, valid] : kCases) {
    EXPECT_EQ(present::IsUtf8(text), valid) << text;
    present::Utf8Check check;
    for (char c : text) check.Feed(std::string_view(&c, 1));
    EXPECT_EQ(check.valid(), valid) << text;
  }
}

TEST(JsonLineTest, Base64AcrossPieces) {
  for (size_t cut = 0; cut <= 7; ++cut) {
    present::Base64 encoder;
    std::string text = "Spate!\n";
    std::string coded = encoder.Feed(text.substr(0, cut));
    coded += encoder.Feed(text.substr(cut));
    coded += encoder.Finish();
    EXPECT_EQ(coded, "U3BhdGUhCg==");
  }
  present::Base64 empty;
  EXPECT_EQ(empty.Finish(), "");
}

}  // namespace
}  // namespace spate::cli
