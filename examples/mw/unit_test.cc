// Unit tests of a master-worker program's own functions, with a master and slaves in this process.
// Any test framework will do; this one is a macro.
#include <spate/mw_local.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace mw = spate::mw;

// ---- The program, which would be in files of its own
// ---------------------------------------------

const auto count_words = mw::algorithm<"count-words">([](const std::string& text) {
  int words = 0;
  bool in_word = false;
  for (const char c : text) {
    if (c != ' ' && !in_word) ++words;
    in_word = c != ' ';
  }
  return words;
});

// Counts the words of all texts. What has arrived is part of each checkpoint.
int count_all(mw::master& m, const std::vector<std::string>& texts) {
  int sum = 0;
  if (const auto& last = m.restored(); last && !last->state.empty()) {
    sum = mw::decode<int>(last->state);
  } else {
    for (const std::string& text : texts) m.submit(count_words, text);
    m.checkpoint(mw::encode(sum));
  }
  while (m.pending() > 0) {
    m.wait();
    for (const mw::result& r : m.take_results()) sum += r.get(count_words);
    m.checkpoint(mw::encode(sum));
  }
  return sum;
}

// ---- The tests
// -----------------------------------------------------------------------------------

#define EXPECT(condition)                                                               \
  do {                                                                                  \
    if (!(condition)) std::printf("line %d: %s\n", __LINE__, #condition), std::exit(1); \
  } while (false)

const std::vector<std::string> texts = {"to be or not", "", "to be", "that is the  question"};

void words_of_one_text() { EXPECT(count_words("that is  it") == 3); }

void words_of_all_texts() {
  mw::local_cluster cluster(2);
  EXPECT(count_all(cluster.master(), texts) == 10);
}

void a_slave_and_the_master_are_killed() {
  mw::local_cluster cluster(2);
  for (const std::string& text : texts) cluster.master().submit(count_words, text);
  cluster.master().checkpoint(mw::encode(0));
  cluster.kill_slave({1});
  EXPECT(count_all(cluster.restart_master(), texts) == 10);
}

int main() {
  words_of_one_text();
  words_of_all_texts();
  a_slave_and_the_master_are_killed();
  std::puts("all tests passed");
}
