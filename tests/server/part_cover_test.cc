#include "server/frontend/native/part_cover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace warpfold {
namespace {

using Boxes = std::vector<Box>;

std::string Said(const Boxes& parts, const std::optional<Box>& whole = std::nullopt) {
  const absl::StatusOr<Box> all = UnionOf(parts, whole);
  EXPECT_EQ(all.ok(), !absl::IsInvalidArgument(all.status())) << all.status();
  return std::string(all.status().message());
}

TEST(UnionOf, IsTheBoxThatThePartsMakeUp) {
  const Box whole{{0, 0}, {4, 6}};
  // As the leaves of a pinwheel, which no straight line parts.
  Boxes parts = {
      {{0, 0}, {1, 4}}, {{0, 4}, {3, 2}}, {{3, 2}, {1, 4}}, {{1, 0}, {3, 2}}, {{1, 2}, {2, 2}}};
  EXPECT_EQ(Said(parts, whole), "");
  EXPECT_EQ(*UnionOf(parts, std::nullopt), whole);
  parts.pop_back();
  EXPECT_EQ(Said(parts), "states: none has the element at [1, 2]");
  parts.push_back({{1, 2}, {2, 3}});
  EXPECT_EQ(Said(parts), "states[4].part_offset: the element at [1, 4] is in states[1], too");
  EXPECT_EQ(*UnionOf({{{2, 2}, {2, 1}}, {{2, 3}, {2, 3}}}, std::nullopt), (Box{{2, 2}, {2, 4}}));
  EXPECT_EQ(Said({{{0, 0}, {4, 5}}}, whole), "states: none has the element at [0, 5]");
}

// A gap and an overlap of the same size.
TEST(UnionOf, DoesNotCountElementsAlone) {
  EXPECT_EQ(Said({{{0}, {3}}, {{2}, {3}}, {{6}, {2}}}, Box{{0}, {8}}),
            "states[1].part_offset: the element at [2] is in states[0], too");
}

TEST(UnionOf, PartsWithoutElementsAreNowhere) {
  EXPECT_EQ(Said({{{3}, {0}}, {{0}, {8}}, {{8}, {0}}}, Box{{0}, {8}}), "");
  EXPECT_EQ(*UnionOf({{{3}, {0}}, {{5}, {0}}}, std::nullopt), (Box{{3}, {0}}));
  EXPECT_EQ(Said({{{3}, {0}}}, Box{{0}, {8}}), "states: none has the element at [0]");
  EXPECT_EQ(Said({{{0, 2}, {4, 0}}}, Box{{0, 0}, {4, 0}}), "");
  EXPECT_EQ(Said({{{}, {}}}, Box{{}, {}}), "");
  EXPECT_EQ(Said({{{}, {}}, {{}, {}}}, Box{{}, {}}),
            "states[1].part_offset: the element at [] is in states[0], too");
}

// 2^16 parts of a grid in three dimensions, in any order, and the same with one left out.
TEST(UnionOf, TakesManyParts) {
  Boxes parts;
  for (std::int64_t i = 0; i < 1 << 15; ++i) {
    parts.push_back({{i / 1024, i / 32 % 32 * 5, i % 32}, {1, 5, 1}});
  }
  std::shuffle(parts.begin(), parts.end(), std::mt19937(5));
  EXPECT_EQ(*UnionOf(parts, std::nullopt), (Box{{0, 0, 0}, {32, 160, 32}}));
  parts[77] = parts[78];
  EXPECT_NE(Said(parts), "");
}

TEST(UnionOf, RefusesMoreThanItCanTell) {
  Boxes parts;
  for (std::int64_t i = 0; i < 21; ++i) {
    Box part{std::vector<std::int64_t>(21), std::vector<std::int64_t>(21, 2)};
    part.offset[static_cast<std::size_t>(i)] = 1;
    parts.push_back(part);
  }
  EXPECT_EQ(Said(parts),
            "states: 21 parts that are cut in 21 dimensions are too many to join at once; join "
            "some to a state first");
}

// Against a count of each element.
TEST(UnionOf, AgreesWithCounting) {
  constexpr unsigned kSeed = 20261127;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  const Box whole{{0, 0, 0}, {3, 4, 3}};
  int right = 0;
  for (int round = 0; round < 20'000; ++round) {
    Boxes parts = {whole};
    for (unsigned cuts = random() % 6; cuts > 0; --cuts) {
      Box& first = parts[random() % parts.size()];
      Box second = first;
      const std::size_t d = random() % 3;
      first.shape[d] = static_cast<std::int64_t>(random() % (second.shape[d] + 1));
      second.offset[d] += first.shape[d];
      second.shape[d] -= first.shape[d];
      parts.push_back(second);
    }
    if (random() % 2 == 0) {
      Box& changed = parts[random() % parts.size()];
      const std::size_t d = random() % 3;
      changed.offset[d] = static_cast<std::int64_t>(random() % whole.shape[d]);
      changed.shape[d] = static_cast<std::int64_t>(random() % (whole.shape[d] - changed.offset[d]));
    }
    int counts[3][4][3] = {};
    for (const Box& part : parts) {
      for (std::int64_t x = part.offset[0]; x < part.end(0); ++x) {
        for (std::int64_t y = part.offset[1]; y < part.end(1); ++y) {
          for (std::int64_t z = part.offset[2]; z < part.end(2); ++z) ++counts[x][y][z];
        }
      }
    }
    std::string expected;
    for (int e = 0; e < 36 && expected.empty(); ++e) {
      const int x = e / 12, y = e / 3 % 4, z = e % 3;
      if (counts[x][y][z] == 1) continue;
      expected = "the element at [" + std::to_string(x) + ", " + std::to_string(y) + ", " +
                 std::to_string(z) + "]";
    }
    const std::string said = Said(parts, whole);
    ASSERT_EQ(said.empty(), expected.empty()) << said << ", not " << expected;
    ASSERT_NE(said.find(expected), std::string::npos) << said << ", not " << expected;
    right += said.empty() ? 1 : 0;
  }
  EXPECT_GT(right, 5000);
}

}  // namespace
}  // namespace warpfold
