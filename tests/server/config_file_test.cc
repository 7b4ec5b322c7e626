// The file of options.
#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "server/option_text.h"
#include "tests/server/read_config.h"
#include "tests/temp_folder.h"

namespace warpfold {
namespace {

TEST(ConfigFileTest, FlagsWinOverTheFileAndThatOverTheEnvironment) {
  const UniqueTempFolder folder;
  const std::string file = folder.Write(
      "config.toml", "workers-per-device = 3\nqueue-depth-max = 4\nlog-format = \"json\"\n");
  setenv("WARPFOLD_QUEUE_DEPTH_MAX", "5", 1);
  setenv("WARPFOLD_STAGING_BUFFERS_PER_WORKER", "6", 1);
  setenv("WARPFOLD_MAX_TENSOR_BYTES", "8KiB", 1);
  const absl::StatusOr<Config> config =
      Read({"--config", file.c_str(), "--staging-buffers-per-worker=7"});
  unsetenv("WARPFOLD_QUEUE_DEPTH_MAX");
  unsetenv("WARPFOLD_STAGING_BUFFERS_PER_WORKER");
  unsetenv("WARPFOLD_MAX_TENSOR_BYTES");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->workers_per_device, 3);
  EXPECT_EQ(config->queue_depth_max, 4);
  EXPECT_EQ(config->staging_buffers_per_worker, 7);
  EXPECT_EQ(config->max_tensor_bytes, 8192);
  EXPECT_EQ(config->log_format, LogFormat::kJson);
}

TEST(ConfigFileTest, UnknownKeysInTheFileAreRefusedByName) {
  const UniqueTempFolder folder;
  for (const auto& [text, key] :
       {std::pair("workers-per-device = 5\nstrems = 3\n", "strems"),
        std::pair("check = true\n", "check"), std::pair("foo bar = = 3\n", "foo bar")}) {
    const std::string file = folder.Write("config.toml", text);
    const std::string refusal = Refusal({"--config", file.c_str()});
    EXPECT_EQ(refusal.rfind(file + ": '" + key, 0), 0U) << refusal;
  }
}

TEST(ConfigFileTest, ALineThatIsNoneIsRefusedByFileAndNumber) {
  const UniqueTempFolder folder;
  for (const auto& [text, problem] :
       {std::pair("[server]\nworkers-per-device = 3\n",
                  ", line 1: there are no sections, and [server] is one"),
        std::pair("workers-per-device = 3\n\n  [[a.b]]  # x\n",
                  ", line 3: there are no sections, and [[a.b]]"),
        std::pair("workers-per-device = 3\nlisten-address = \"127.0.0.1:0\n",
                  ", line 2: \"127.0.0.1:0 has no closing quote"),
        std::pair("log-format='text\r\n", ", line 1: 'text has no closing quote"),
        std::pair("port-file = \"a#b\"\n",
                  ", line 1: \"a has no closing quote; # begins a comment, in quotes too"),
        std::pair("port-file = \"\nworkers-per-device = 3\n", ", line 1: \" has no closing quote"),
        std::pair("listen-address = [::1]:7\nworkers-per-device = 3\n",
                  ", line 1: [::1]:7 needs quotes"),
        std::pair("port-file\n", ", line 1: port-file has no value: a line is `name = value`"),
        std::pair("port-file = \"\"a\"\n", ", line 1: \"\"a\" goes on behind its closing quote"),
        std::pair("port-file = a\"b\"\n", ", line 1: a\"b\" needs quotes"),
        std::pair("listen-address = ['a:1', \"b:1\"]\n",
                  ", line 1: ['a:1', \"b:1\"] has quotes of two kinds; one array has one")}) {
    const std::string file = folder.Write("config.toml", text);
    const std::string refusal = Refusal({"--config", file.c_str()});
    EXPECT_EQ(refusal.rfind(file + problem, 0), 0U) << refusal;
  }
  const std::string good = folder.Write(
      "config.toml", "# [none]\n;'\nlog-format = 'json' # it's\nlisten-address = \"[::1]:7\"\r\n");
  EXPECT_TRUE(Read({"--config", good.c_str()}).ok());
}

TEST(ConfigFileTest, AFileHasAnOptionOnce) {
  const UniqueTempFolder folder;
  const auto refusal = [&folder](const std::string& text) {
    const std::string file = folder.Write("config.toml", text);
    return Refusal({"--config", file.c_str()});
  };
  const std::string file = folder.Path("config.toml");
  EXPECT_EQ(refusal("batch-workers = 4\nbatch-workers=4\n"),
            file + ", line 2: batch-workers is there twice");
  EXPECT_EQ(refusal("metrics-auth = 'on'\n# metrics-auth = 'off'\n\nbatch-workers = 4\n"
                    "metrics-auth = 'off'\n"),
            file + ", line 5: metrics-auth is there twice");
  EXPECT_EQ(refusal("'batch-workers' = 4\nbatch-workers = 4\n"),
            file + ", line 2: batch-workers is there twice");
  folder.Write("config.toml", "# batch-workers = 4\n; batch-workers = 4\nbatch-workers = 4\n\n\n");
  EXPECT_TRUE(Read({"--config", file.c_str()}).ok());
}

TEST(ConfigFileTest, AnArrayIsAList) {
  const UniqueTempFolder folder;
  const auto listen = [&folder](const std::string& text) {
    const std::string file = folder.Write("config.toml", text);
    const absl::StatusOr<Config> config = Read({"--config", file.c_str()});
    return config.ok() ? config->listen_address : std::string(config.status().message());
  };
  const std::string both = "[::1]:1, unix:/a mode=0600";
  for (const char* const text :
       {"listen-address = [\"[::1]:1\", \"unix:/a mode=0600\"]\n",
        "listen-address=['[::1]:1' , 'unix:/a mode=0600' ]  # two\r\nworkers-per-device = 3\n",
        "listen-address = \"[::1]:1, unix:/a mode=0600\"\n"}) {
    EXPECT_EQ(listen(text), both) << text;
  }
  EXPECT_EQ(listen("listen-address = ['a:1']"), "a:1");
  EXPECT_EQ(listen("listen-address = a:1"), "a:1");
  const std::string file = folder.Path("config.toml");
  EXPECT_EQ(listen("listen-address = ['a:1', 'b']"),
            "listen-address: 'b' is no host:port with a port of 0 to 65535 (in " + file + ")");
  EXPECT_EQ(listen("listen-address = a:1, b:1"), file + ", line 1: a:1, b:1 needs quotes");
  EXPECT_EQ(listen("listen-address = ['a:1',\n'b:1']"),
            file + ", line 1: ['a:1', needs quotes; an array ends on its line");
  EXPECT_EQ(listen("listen-address = 'a:1'\nlisten-address = 'b:1'"),
            file + ", line 2: listen-address is there twice");
}

TEST(ConfigFileTest, AValueIsPrintedInQuotesThatItHasNot) {
  const UniqueTempFolder folder;
  for (const char* const value : {"a'b", "a`\"b", "a b, c", "a=b;c"}) {
    Config config;
    config.port_file = value;
    const std::string file = folder.Write("config.toml", ToFile(config));
    const absl::StatusOr<Config> again = Read({"--config", file.c_str()});
    ASSERT_TRUE(again.ok()) << value << again.status();
    EXPECT_EQ(again->port_file, value);
  }
}

TEST(ConfigFileTest, AnUnreadableFileIsRefusedByName) {
  for (const std::string& file : {std::string("/no/such/file"), ::testing::TempDir()}) {
    const absl::Status status = Read({"--config", file.c_str()}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << file;
    EXPECT_NE(std::string(status.message()).find(file), std::string::npos) << status;
  }
}

// One that somebody might write to would be waited for.
TEST(ConfigFileTest, AFileThatIsNoneIsRefusedAtOnce) {
  const UniqueTempFolder folder;
  const std::string pipe = folder.Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Refusal({"--config", pipe.c_str()}), "config: " + pipe + " is no regular file");
  const std::string large = folder.Write("large.toml", std::string((1 << 20) + 1, '\n'));
  EXPECT_EQ(Refusal({"--config", large.c_str()}), "config: " + large + " has more than 1 MiB");
  const std::string flag = "--config=" + folder.path();
  EXPECT_EQ(Refusal({flag.c_str()}), "config: " + folder.path() + " is no regular file");
}

TEST(ConfigFileTest, TheVariableNamesAFileAndTheFlagAnother) {
  const UniqueTempFolder folder;
  const std::string file = folder.Write("a.toml", "workers-per-device = 3\n");
  const std::string other = folder.Write("b.toml", "workers-per-device = 4\n");
  setenv("WARPFOLD_CONFIG", file.c_str(), 1);
  EXPECT_EQ(Read({})->workers_per_device, 3);
  EXPECT_EQ(Read({"--config", other.c_str()})->workers_per_device, 4);
  setenv("WARPFOLD_CONFIG", "/no/such/file", 1);
  EXPECT_EQ(Read({}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Read({"--config", other.c_str()})->workers_per_device, 4);
  setenv("WARPFOLD_CONFIG", "", 1);
  EXPECT_EQ(Read({})->workers_per_device, Config().workers_per_device);
  unsetenv("WARPFOLD_CONFIG");
}

TEST(ConfigFileTest, WhatIsPrintedReadsBackAsTheSame) {
  Config config;
  config.listen_address = "[::1]:7";
  config.port_file = "/tmp/a b";
  config.staging_buffer_bytes = 3 << 20;
  config.max_bytes_in_flight = 1234567;
  config.log_level = LogLevel::kError;
  const UniqueTempFolder folder;
  for (const Config& printed : {config, Config()}) {
    const std::string file = folder.Write("config.toml", ToFile(printed));
    const absl::StatusOr<Config> read = Read({"--config", file.c_str()});
    ASSERT_TRUE(read.ok()) << read.status();
    for (const Change change : {Change::kAtStart, Change::kOnReload}) {
      EXPECT_TRUE(Differing(printed, *read, change).empty());
    }
  }
}

}  // namespace
}  // namespace warpfold
