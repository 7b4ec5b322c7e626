#include "server/observe/log/log.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "spdlog/sinks/ostream_sink.h"

namespace warpfold {
namespace {

std::string Logged(LogFormat format, LogLevel level, std::string_view message,
                   std::string_view request_id = "a \"b\"\nc\xff") {
  std::ostringstream out;
  {
    Log log({.format = format}, std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
    log.Write(level, message, {{"request_id", request_id}, {"bytes", 42}});
  }
  return out.str();
}

TEST(LogTest, JsonLinesParseWhateverTheFieldsHold) {
  const std::string line = Logged(LogFormat::kJson, LogLevel::kWarning, "over {} the {0} top");
  const nlohmann::json json = nlohmann::json::parse(line);
  EXPECT_EQ(json.at("level"), "warning");
  EXPECT_EQ(json.at("message"), "over {} the {0} top");
  EXPECT_EQ(json.at("bytes"), 42);
  EXPECT_EQ(json.at("request_id").get<std::string>().substr(0, 7), "a \"b\"\nc");
}

TEST(LogTest, AFieldCannotForgeALine) {
  const std::string line = Logged(LogFormat::kText, LogLevel::kInfo, "text");
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_NE(line.find("request_id=\"a \\\"b\\\"\\nc"), std::string::npos) << line;
}

struct Hostile {
  const char* name;
  std::string_view bytes;
  std::string_view escaped;
};

constexpr Hostile kHostile[] = {
    {"NUL", std::string_view("\0", 1), "\\u0000"},
    {"line feed", "\n", "\\n"},
    {"carriage return", "\r", "\\r"},
    {"escape", "\x1b[2K", "\\u001b[2K"},
    {"DEL", "\x7f", "\\u007f"},
    {"C1: next line", "\u0085", "\\u0085"},
    {"C1: control sequence introducer", "\u009b", "\\u009b"},
    {"soft hyphen", "\u00ad", "\\u00ad"},
    {"zero width space", "\u200b", "\\u200b"},
    {"right-to-left mark", "\u200f", "\\u200f"},
    {"right-to-left override", "\u202e", "\\u202e"},
    {"left-to-right isolate", "\u2066", "\\u2066"},
    {"byte order mark", "\ufeff", "\\ufeff"},
    {"language tag, beyond 16 bits", "\U000e0001", "\\udb40\\udc01"},
    {"line separator", "\u2028", "\\u2028"},
    {"paragraph separator", "\u2029", "\\u2029"},
    {"a letter, which might be taken for another", "\u0430", "\\u0430"},
    {"no UTF-8: alone", "\x80", "\\ufffd"},
    {"no UTF-8: cut short", "\xe2\x80", "\\ufffd"},
    {"no UTF-8: a line feed in two bytes", "\xc0\x8a", "\\ufffd\\ufffd"},
    {"no UTF-8: half a surrogate pair", "\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},
};

TEST(LogTest, WhatCouldForgeOrTurnALineIsEscapedInBothFormats) {
  for (const Hostile& hostile : kHostile) {
    SCOPED_TRACE(hostile.name);
    std::string id = "a";
    id.append(hostile.bytes).append("z");
    const std::string quoted = "\"a" + std::string(hostile.escaped) + "z\"";
    for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
      std::string line = Logged(format, LogLevel::kInfo, "text", id);
      EXPECT_NE(line.find(quoted), std::string::npos) << line;
      ASSERT_EQ(line.back(), '\n');
      line.pop_back();
      EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) {
        return ' ' <= c && c <= '~';
      })) << line;
      EXPECT_TRUE(format == LogFormat::kText || nlohmann::json::accept(line)) << line;
    }
  }
}

TEST(LogTest, LinesBelowTheLevelAreNotWritten) {
  EXPECT_EQ(Logged(LogFormat::kText, LogLevel::kDebug, "quiet"), "");
}

TEST(LogTest, TheLevelChangesWhileItRuns) {
  std::ostringstream out;
  {
    Log log({.level = LogLevel::kError}, std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
    log.Write(LogLevel::kInfo, "before");
    log.SetLevel(LogLevel::kInfo);
    log.Write(LogLevel::kInfo, "after");
  }
  EXPECT_EQ(out.str().find("before"), std::string::npos);
  EXPECT_NE(out.str().find("after"), std::string::npos);
}

// Holds the log's thread in its first line until it is let go.
class HeldSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  absl::Notification begun;
  absl::Notification go;
  int lines = 0;

 private:
  void sink_it_(const spdlog::details::log_msg& /*message*/) override {
    if (++lines == 1) begun.Notify();
    go.WaitForNotification();
  }
  void flush_() override {}
};

TEST(LogTest, AFullQueueDropsTheOldestAndCountsThem) {
  const auto sink = std::make_shared<HeldSink>();
  {
    Log log({.queue_lines = 4}, sink);
    log.Write(LogLevel::kInfo, "held");
    sink->begun.WaitForNotification();
    EXPECT_EQ(log.dropped_by_queue(), 0U);
    for (int i = 0; i < 10; ++i) log.Write(LogLevel::kInfo, "waiting");
    EXPECT_EQ(log.dropped_by_queue(), 6U);
    sink->go.Notify();
  }
  EXPECT_EQ(sink->lines, 5) << "the end writes what waits";
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(fd_); }
  int get() const { return fd_; }

 private:
  const int fd_;
};

TEST(DescriptorSinkTest, AFullDiskLosesLinesThatAreCounted) {
  const Descriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  const auto sink = std::make_shared<DescriptorSink>(full.get());
  {
    Log log({}, sink);
    log.Write(LogLevel::kInfo, "one");
    log.Write(LogLevel::kInfo, "two");
  }
  EXPECT_EQ(sink->dropped(), 2U);
}

TEST(DescriptorSinkTest, APipeThatNobodyReadsHoldsTheLogUpOnceAndGetsLinesAgainWhenRead) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Descriptor reader(ends[0]);
  const Descriptor writer(ends[1]);
  const std::string page(4096, 'x');
  const auto sink = std::make_shared<DescriptorSink>(writer.get());
  const auto start = std::chrono::steady_clock::now();
  {
    Log log({}, sink);
    for (int i = 0; i < 100; ++i) log.Write(LogLevel::kInfo, page);
  }
  const auto held_up = std::chrono::steady_clock::now() - start;
  EXPECT_GT(sink->dropped(), 80U);  // a pipe holds 64 KiB
  EXPECT_LT(held_up, 40 * DescriptorSink::kStallTimeout) << "each line that was dropped waited";
  const std::uint64_t dropped = sink->dropped();
  std::string read_back(1 << 20, '\0');
  for (pollfd waiting{reader.get(), POLLIN, 0}; poll(&waiting, 1, 0) > 0;) {
    ASSERT_GT(read(reader.get(), read_back.data(), read_back.size()), 0);
  }
  {
    Log log({}, sink);
    log.Write(LogLevel::kInfo, "again");
  }
  EXPECT_EQ(sink->dropped(), dropped);
  const ssize_t count = read(reader.get(), read_back.data(), read_back.size());
  read_back.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  EXPECT_NE(read_back.find('\n'), std::string::npos);
  EXPECT_EQ(read_back.substr(read_back.size() - 6), "again\n");
}

}  // namespace
}  // namespace warpfold
