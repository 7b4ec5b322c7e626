// A folder of its own for a test's files, gone with what is in it when its owner goes.
#ifndef WARPFOLD_TESTS_TEMP_FOLDER_H_
#define WARPFOLD_TESTS_TEMP_FOLDER_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace warpfold {

class UniqueTempFolder {
 public:
  UniqueTempFolder() {
    std::string pattern = ::testing::TempDir() + "/warpfold-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder at " + pattern);
    path_ = std::filesystem::path(pattern).lexically_normal();
  }
  ~UniqueTempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  UniqueTempFolder(const UniqueTempFolder&) = delete;
  UniqueTempFolder& operator=(const UniqueTempFolder&) = delete;

  std::string path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ / name; }

  // Returns the file's path.
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_TEMP_FOLDER_H_
