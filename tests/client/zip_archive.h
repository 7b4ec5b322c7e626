// Zip archives for tests, written by libzip.
//
// Thread safety: pure.
#ifndef WARPFOLD_TESTS_CLIENT_ZIP_ARCHIVE_H_
#define WARPFOLD_TESTS_CLIENT_ZIP_ARCHIVE_H_

#include <gtest/gtest.h>
#include <zip.h>

#include <string>
#include <vector>

namespace warpfold::client {

struct ZipMember {
  std::string name;
  std::string bytes;
  zip_int32_t compression = ZIP_CM_STORE;
};

// The bytes of a zip archive of `members`, by libzip.
inline std::string ZipArchive(const std::vector<ZipMember>& members) {
  zip_error_t error;
  zip_source_t* target = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_source_keep(target);  // the archive's close gives up one reference
  zip_t* archive = zip_open_from_source(target, ZIP_CREATE | ZIP_TRUNCATE, &error);
  for (const ZipMember& member : members) {
    zip_source_t* source = zip_source_buffer(archive, member.bytes.data(), member.bytes.size(), 0);
    const auto index = zip_file_add(archive, member.name.c_str(), source, ZIP_FL_ENC_UTF_8);
    EXPECT_GE(index, 0) << zip_strerror(archive);
    EXPECT_EQ(
        zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), member.compression, 0),
        0);
  }
  EXPECT_EQ(zip_close(archive), 0);
  zip_stat_t stat;
  zip_source_stat(target, &stat);
  std::string bytes(stat.size, '\0');
  zip_source_open(target);
  EXPECT_EQ(zip_source_read(target, bytes.data(), bytes.size()),
            static_cast<zip_int64_t>(bytes.size()));
  zip_source_close(target);
  zip_source_free(target);
  return bytes;
}

}  // namespace warpfold::client

#endif  // WARPFOLD_TESTS_CLIENT_ZIP_ARCHIVE_H_
