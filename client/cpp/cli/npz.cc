#include "client/cpp/cli/npz.h"

#include <zip.h>

#include <new>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cpp/cli/npy.h"

namespace warpfold::client {
namespace {

constexpr zip_uint64_t kStatNeeded =
    ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct Close {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using UniqueArchive = std::unique_ptr<zip_t, Discard>;
using UniqueMember = std::unique_ptr<zip_file_t, Close>;

absl::Status Broken(zip_error_t& error) {
  const absl::Status status =
      absl::InvalidArgumentError(absl::StrCat("is not a .npz file: ", zip_error_strerror(&error)));
  zip_error_fini(&error);
  return status;
}

absl::StatusOr<UniqueArchive> OpenArchive(std::span<const std::byte> file) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(file.data(), file.size(), 0, &error);
  if (source == nullptr) return Broken(error);
  zip_t* archive = zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    zip_source_free(source);  // an opened archive owns it
    return Broken(error);
  }
  zip_error_fini(&error);
  return UniqueArchive(archive);
}

absl::Status InMember(const std::string& name, const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat("member '", name, "': ", problem));
}

absl::Status CheckMember(const zip_stat_t& stat, const std::string& name,
                         std::size_t archive_bytes) {
  const bool stored = stat.comp_method == ZIP_CM_STORE;
  if (!stored && stat.comp_method != ZIP_CM_DEFLATE) {
    return InMember(
        name, absl::StrCat("compression ", stat.comp_method, " is neither stored nor deflated"));
  }
  if (stat.comp_size > archive_bytes) {
    return InMember(name, absl::StrCat("ends behind the archive: it has ", stat.comp_size,
                                       " bytes there, of ", archive_bytes));
  }
  if (stat.size / (stored ? 1 : kDeflateRatioMax) > stat.comp_size) {
    return InMember(name, absl::StrCat(stat.size, " bytes cannot come of the ", stat.comp_size,
                                       " in the archive"));
  }
  return absl::OkStatus();
}

bool IsArray(const std::string& name) { return name.ends_with(".npy"); }

// A zip archive without any array is something else, as a PyTorch checkpoint is. Its members are
// not read.
absl::Status CheckHasArray(zip_t* archive) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  std::string first;
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* const name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    if (name == nullptr) continue;
    if (IsArray(name)) return absl::OkStatus();
    if (first.empty()) first = name;
  }
  if (count == 0) return absl::OkStatus();  // np.savez(file)
  return InMember(first, "is not .npy, so this is not a .npz file");
}

// Reads the member into `bytes`, then past its end: only there is the CRC checked.
absl::Status ReadMember(zip_t* archive, zip_uint64_t index, const std::string& name,
                        std::span<std::byte> bytes) {
  const UniqueMember member(zip_fopen_index(archive, index, 0));
  if (member == nullptr) return InMember(name, zip_strerror(archive));
  std::byte past_the_end{};
  std::size_t done = 0;
  while (true) {
    const bool all = done == bytes.size();
    const zip_int64_t n = zip_fread(member.get(), all ? &past_the_end : bytes.data() + done,
                                    all ? 1 : bytes.size() - done);
    if (n < 0) return InMember(name, zip_file_strerror(member.get()));
    if (n == 0 && !all) return InMember(name, absl::StrCat("ends after ", done, " bytes"));
    if (n == 0) return absl::OkStatus();
    if (all) return InMember(name, absl::StrCat("is more than its ", bytes.size(), " bytes"));
    done += static_cast<std::size_t>(n);
  }
}

// An archive may hold arrays that say their dtype beside others that do not.
absl::StatusOr<NpyArray> ParseMember(std::span<const std::byte> file,
                                     std::optional<DType> of_void) {
  absl::StatusOr<NpyArray> array = ParseNpy(file);
  if (!of_void.has_value() || !absl::IsUnimplemented(array.status())) return array;
  absl::StatusOr<NpyArray> told = ParseNpy(file, of_void);
  return told.ok() ? std::move(told) : std::move(array);
}

}  // namespace

absl::StatusOr<NpzArchive> ReadNpz(std::span<const std::byte> file, std::optional<DType> of_void) {
  // libzip takes no bytes at all for an archive of no members.
  if (file.empty()) return absl::InvalidArgumentError("is not a .npz file: is empty");
  const absl::StatusOr<UniqueArchive> archive = OpenArchive(file);
  if (!archive.ok()) return archive.status();
  if (absl::Status has = CheckHasArray(archive->get()); !has.ok()) return has;
  NpzArchive npz;
  std::set<std::string> names;
  const auto count = static_cast<zip_uint64_t>(zip_get_num_entries(archive->get(), 0));
  for (zip_uint64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    if (zip_stat_index(archive->get(), i, 0, &stat) != 0 ||
        (stat.valid & kStatNeeded) != kStatNeeded) {
      return absl::InvalidArgumentError(absl::StrCat("member ", i, ": has no name or no size"));
    }
    const std::string name = stat.name;
    if (absl::Status checked = CheckMember(stat, name, file.size()); !checked.ok()) return checked;
    const std::string tensor_name(absl::StripSuffix(name, ".npy"));
    if (!names.insert(tensor_name).second) return InMember(name, "the name comes twice");
    std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[stat.size]);
    if (bytes == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("member '", name, "': no memory for its ", stat.size, " bytes"));
    }
    const std::span<std::byte> span(bytes.get(), stat.size);
    if (absl::Status read = ReadMember(archive->get(), i, name, span); !read.ok()) return read;
    absl::StatusOr<NpyArray> array =
        IsArray(name) ? ParseMember(span, of_void) : absl::UnimplementedError("is not a .npy file");
    if (absl::IsUnimplemented(array.status())) {  // nothing that can be reduced
      npz.tensors.push_back(
          {tensor_name, "-", {}, std::string(array.status().message()), {}, span});
      npz.members.push_back(std::move(bytes));
      continue;
    }
    if (!array.ok()) return InMember(name, std::string(array.status().message()));
    if (array->layout.is_big_endian) {
      SwapBytes(ElementBytes(array->view.dtype), span.last(array->view.data.size()));
      array->layout.is_big_endian = false;
    }
    const std::string dtype_name = Name(array->view.dtype);
    npz.tensors.push_back({tensor_name, dtype_name, std::move(array->view), "", array->layout, {}});
    npz.members.push_back(std::move(bytes));
  }
  return npz;
}

}  // namespace warpfold::client
