// Runs scripts: RunScript is pure, ScriptMain reads and rewrites the files.
#include "core/testing/script.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace spate::script {
namespace {

constexpr std::string_view kRule = "----";
// A script that is longer tells more than one story.
constexpr size_t kLinesMost = 60;

struct Block {
  size_t line = 0;                  // of its first line, from 1
  std::vector<std::string> before;  // comments and blank lines in front of it
  std::vector<std::string> input;
  std::vector<std::string> expected;
};

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

bool IsComment(const std::string& line) { return line.starts_with('#'); }

std::vector<Block> SplitBlocks(const std::vector<std::string>& lines) {
  std::vector<Block> blocks;
  size_t i = 0;
  while (i < lines.size()) {
    Block block;
    while (i < lines.size() && (lines[i].empty() || IsComment(lines[i]))) {
      block.before.push_back(lines[i++]);
    }
    block.line = i + 1;
    while (i < lines.size() && !lines[i].empty() && lines[i] != kRule) {
      block.input.push_back(lines[i++]);
    }
    if (i < lines.size() && lines[i] == kRule) ++i;
    while (i < lines.size() && !lines[i].empty()) block.expected.push_back(lines[i++]);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

std::string Difference(const std::vector<std::string>& expected,
                       const std::vector<std::string>& real) {
  size_t same = 0;
  while (same < expected.size() && same < real.size() && expected[same] == real[same]) ++same;
  auto at = [same](const std::vector<std::string>& lines) {
    return same < lines.size() ? lines[same] : std::string("(nothing more)");
  };
  return fmt::format("expected: {}\n  came:     {}\nall that came:\n{}", at(expected), at(real),
                     Join(real));
}

std::vector<std::string> RunBlock(const Block& block, Subject& subject,
                                  std::vector<std::string>& problems) {
  size_t number = block.line;
  for (const std::string& text : block.input) {
    if (!IsComment(text)) {
      Line line(text);
      subject.Input(line);
      if (auto ok = line.Finish(); !ok) {
        problems.push_back(fmt::format("{}: {}", number, ok.error().message));
      }
    }
    ++number;
  }
  return subject.EndBlock();
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class ScriptTest : public testing::Test {
 public:
  ScriptTest(std::filesystem::path path, MakeSubject make, bool rewrite)
      : path_(std::move(path)), make_(make), rewrite_(rewrite) {}

  void TestBody() override {
    std::string text = ReadText(path_);
    EXPECT_TRUE(text.starts_with("# ")) << path_ << " must begin with the rule that it shows";
    size_t lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    EXPECT_LE(lines, kLinesMost) << path_ << ": make two scripts of it";
    Outcome outcome = RunScript(text, make_);
    if (rewrite_) {
      if (outcome.text != text) std::ofstream(path_) << outcome.text;
      return;
    }
    for (const std::string& problem : outcome.problems) {
      ADD_FAILURE() << path_.string() << ":" << problem;
    }
  }

 private:
  std::filesystem::path path_;
  MakeSubject make_;
  bool rewrite_;
};

}  // namespace

Outcome RunScript(std::string_view text, const MakeSubject& make) {
  Outcome outcome;
  std::unique_ptr<Subject> subject = make();
  for (const Block& block : SplitBlocks(SplitLines(text))) {
    for (const std::string& line : block.before) outcome.text += line + "\n";
    if (block.input.empty()) {
      if (!block.expected.empty()) {
        outcome.problems.push_back(fmt::format("{}: output without input", block.line));
      }
      continue;
    }
    std::vector<std::string> real = RunBlock(block, *subject, outcome.problems);
    for (const std::string& line : block.input) outcome.text += line + "\n";
    outcome.text += std::string(kRule) + "\n";
    for (const std::string& line : real) outcome.text += line + "\n";
    if (real != block.expected) {
      outcome.problems.push_back(
          fmt::format("{}: {}", block.line, Difference(block.expected, real)));
    }
  }
  return outcome;
}

int ScriptMain(int argc, char** argv, const char* folder, MakeSubject make) {
  testing::InitGoogleTest(&argc, argv);
  const char* wish = std::getenv("SPATE_REWRITE");
  bool rewrite = wish != nullptr && std::string_view(wish) == "1";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--rewrite") {
      rewrite = true;
    } else {
      fmt::print(stderr, "unknown argument '{}'; the only one of ours is --rewrite\n", argv[i]);
      return 2;
    }
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  if (paths.empty()) {
    fmt::print(stderr, "no *.txt in {}: nothing would be tested\n", folder);
    return 2;
  }
  for (const std::filesystem::path& path : paths) {
    testing::RegisterTest(
        "Script", path.stem().c_str(), nullptr, nullptr, path.c_str(), 1,
        [path, make, rewrite]() -> ScriptTest* { return new ScriptTest(path, make, rewrite); });
  }
  return RUN_ALL_TESTS();
}

}  // namespace spate::script
