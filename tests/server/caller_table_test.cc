// The file of callers: what it says, and what is refused with its line and never with its values.
#include "server/core/admission/caller_table.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/base/in_force.h"

namespace warpfold {
namespace {

constexpr char kToken[] = "correct-horse-battery-staple";
constexpr char kOther[] = "another-token-of-some-length";

std::string HexOf(absl::string_view token) { return ToHex(HashOf(token)); }

CallerTable Parsed(const std::string& text) {
  absl::StatusOr<CallerTable> table = CallerTable::Parse(text, {"127.0.0.1:1", "unix:/run/a"});
  EXPECT_TRUE(table.ok()) << table.status();
  return table.ok() ? *std::move(table) : CallerTable();
}

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<CallerTable> table =
      CallerTable::Parse(text, {"127.0.0.1:1", "unix:/run/a"});
  EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(table.status().message());
}

TEST(CallerTableTest, HashesAsEverybodyDoes) {
  // printf abc | sha256sum
  EXPECT_EQ(HexOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(CallerTableTest, FindsCallersByTokenAndCertificate) {
  const CallerTable table = Parsed(absl::StrCat(
      "# who may call\n\n  caller=trainer\ttoken-sha256=", HexOf(kToken), ",", HexOf(kOther),
      " scopes=reduce,resident\r\ncaller=monitor certificate=spiffe://example.org/monitor "
      "certificate=monitor scopes=memory\n"));
  ASSERT_NE(table.OfToken(kToken), nullptr);
  EXPECT_EQ(table.OfToken(kToken)->name, "trainer");
  EXPECT_EQ(table.OfToken(kOther), table.OfToken(kToken));
  EXPECT_TRUE(table.OfToken(kToken)->scopes.Has(Scope::kReduce));
  EXPECT_TRUE(table.OfToken(kToken)->scopes.Has(Scope::kResident));
  EXPECT_FALSE(table.OfToken(kToken)->scopes.Has(Scope::kMemory));
  EXPECT_EQ(table.OfToken(absl::StrCat(kToken, "x")), nullptr);
  EXPECT_EQ(table.OfToken(""), nullptr);
  ASSERT_NE(table.OfCertificate("monitor"), nullptr);
  EXPECT_EQ(table.OfCertificate("monitor"), table.OfCertificate("spiffe://example.org/monitor"));
  EXPECT_EQ(table.OfCertificate("Monitor"), nullptr);
  EXPECT_EQ(table.anonymous(), nullptr);
  EXPECT_EQ(table.count(), 2U);
  EXPECT_TRUE(table.has_tokens());
  EXPECT_FALSE(table.asks_nobody());
}

TEST(CallerTableTest, ChangesAreToldByName) {
  const std::string same = "caller=same certificate=same scopes=reduce\n";
  const auto line = [](absl::string_view name, absl::string_view keys) {
    return absl::StrCat("caller=", name, " ", keys, "\n");
  };
  const std::string token = absl::StrCat("token-sha256=", HexOf(kToken));
  const std::string both = absl::StrCat(token, ",", HexOf(kOther));
  const std::string other = absl::StrCat("token-sha256=", HexOf(kOther));
  const auto changes = [&](const std::string& before, const std::string& after) {
    const CallerChanges since = Parsed(same + after).Since(Parsed(same + before));
    return absl::StrCat("+", absl::StrJoin(since.added, ","), " -",
                        absl::StrJoin(since.removed, ","), " *", absl::StrJoin(since.changed, ","));
  };
  const std::string scopes = " scopes=reduce";
  EXPECT_EQ(changes("", ""), "+ - *");
  EXPECT_EQ(
      changes(line("c", token + scopes), line("b", other + scopes) + line("a", token + scopes)),
      "+a,b -c *");
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {token + scopes, token + " scopes=memory"},
           {token + scopes, token + " scopes=reduce,memory"},
           {token + scopes, other + scopes},
           {token + scopes, both + scopes},
           {both + scopes, token + scopes},
           {token + scopes, absl::StrCat(token, " certificate=a", scopes)},
           {absl::StrCat(token, " certificate=a", scopes),
            absl::StrCat(token, " certificate=b", scopes)},
           {absl::StrCat(token, " listener=unix:/run/a", scopes), token + scopes},
           {token + scopes, absl::StrCat(token, scopes, " max-regions=3")},
           {absl::StrCat(token, scopes, " max-regions=3"),
            absl::StrCat(token, scopes, " max-regions=4")}}) {
    EXPECT_EQ(changes(line("c", before), line("c", after)), "+ - *c") << before << " " << after;
  }
  // Who takes another's token has changed, as has who had it.
  EXPECT_EQ(changes(line("a", token + scopes) + line("b", "certificate=b" + scopes),
                    line("a", "certificate=a" + scopes) + line("b", token + scopes)),
            "+ - *a,b");
  EXPECT_EQ(Parsed(same).Since(CallerTable()).added, std::vector<std::string>{"same"});
  EXPECT_TRUE(Parsed(same).Since(Parsed(same)).empty());
}

// A token whose hash is all zeros is not to be had, and the comparison with nobody's is no match.
TEST(CallerTableTest, NobodyIsFoundInATableWithoutTokens) {
  const CallerTable table = Parsed("caller=anonymous scopes=reduce");
  EXPECT_EQ(table.OfToken(kToken), nullptr);
  ASSERT_NE(table.anonymous(), nullptr);
  EXPECT_FALSE(table.has_tokens());
}

TEST(CallerTableTest, FindsCallersByListener) {
  const CallerTable table = Parsed(
      "caller=edge listener=unix:/run/a scopes=reduce\n"
      "caller=local listener=127.0.0.1:1 scopes=metrics\n");
  ASSERT_NE(table.OfListener("unix:/run/a"), nullptr);
  EXPECT_EQ(table.OfListener("unix:/run/a")->name, "edge");
  EXPECT_EQ(table.OfListener("127.0.0.1:1")->name, "local");
  EXPECT_EQ(table.OfListener("unix:/run/b"), nullptr);
  EXPECT_EQ(table.anonymous(), nullptr);
}

TEST(CallerTableTest, FindsTheTokenOfAHeader) {
  EXPECT_EQ(BearerToken("Bearer abc"), "abc");
  EXPECT_EQ(BearerToken("bEARER abc"), "abc");
  EXPECT_EQ(BearerToken("Basic abc"), std::nullopt);
  EXPECT_EQ(BearerToken("Bearer"), std::nullopt);
}

TEST(CallerTableTest, AsksNobodyWithoutAFile) {
  EXPECT_TRUE(CallerTable().asks_nobody());
  for (const ScopeRow& row : kScopes) EXPECT_TRUE(Everyone().scopes.Has(row.scope)) << row.name;
}

TEST(CallerTableTest, KeepsItsCallersWhereTheyAre) {
  InForce<CallerTable> in_force{CallerTable()};
  in_force.Set(Parsed(absl::StrCat("caller=a token-sha256=", HexOf(kToken), " scopes=reduce")));
  const Caller* before = in_force.Get().OfToken(kToken);
  in_force.Set(Parsed(absl::StrCat("caller=b token-sha256=", HexOf(kOther), " scopes=reduce")));
  EXPECT_EQ(in_force.Get().OfToken(kToken), nullptr);
  EXPECT_EQ(before->name, "a");  // a call that has begun reads it
}

TEST(CallerTableTest, ACallersUseOutlivesItsLine) {
  const std::string a = absl::StrCat("caller=a token-sha256=", HexOf(kToken), " scopes=reduce\n");
  const std::string b = absl::StrCat("caller=b token-sha256=", HexOf(kOther), " scopes=reduce\n");
  const CallerTable before = Parsed(a + b);
  CallerTable after =
      Parsed(absl::StrCat("caller=b token-sha256=", HexOf(kToken), " scopes=memory\n"));
  after.KeepUse(before);
  ASSERT_NE(before.OfToken(kOther)->use, nullptr);
  EXPECT_NE(before.OfToken(kOther)->use, before.OfToken(kToken)->use);
  EXPECT_EQ(after.OfToken(kToken)->use, before.OfToken(kOther)->use) << "b's, by another token";
}

TEST(CallerTableTest, ReadsQuotas) {
  const auto size = [](const std::string& text) {
    return text == "a lot" || text == "8GiB" ? std::optional(std::int64_t{8} << 30)
                                             : ReadWholeNumber(text);
  };
  const absl::StatusOr<CallerTable> table = CallerTable::Parse(
      "caller=a certificate=a scopes=reduce max-resident-bytes=8GiB max-resident-tensors=100 "
      "max-regions=32 max-requests-in-flight=5 max-bytes-in-flight=1000\n"
      "caller=b certificate=b scopes=reduce max-regions=1",
      {}, size);
  ASSERT_TRUE(table.ok()) << table.status();
  const Caller& a = *table->OfCertificate("a");
  EXPECT_EQ(a.quotas, (CallerQuotas{.requests = 5,
                                    .bytes = 1000,
                                    .resident_tensors = 100,
                                    .resident_bytes = std::int64_t{8} << 30,
                                    .regions = 32}));
  EXPECT_EQ(a.use->QuotaOfRequests(), 5);
  EXPECT_EQ(a.use->QuotaOfBytes(), 1000);
  EXPECT_EQ(table->OfCertificate("b")->quotas, CallerQuotas{.regions = 1});
  EXPECT_EQ(table->OfCertificate("b")->use->QuotaOfRequests(), std::nullopt);
}

TEST(CallerTableTest, ANewQuotaHoldsForCallsOfBefore) {
  const std::string line = "caller=a certificate=a scopes=reduce ";
  const CallerTable before = Parsed(line + "max-requests-in-flight=5 max-bytes-in-flight=7");
  CallerTable after = Parsed(line + "max-requests-in-flight=6");
  after.KeepUse(before);
  const CallerUse& use = *before.OfCertificate("a")->use;
  EXPECT_EQ(&use, after.OfCertificate("a")->use.get());
  EXPECT_EQ(use.QuotaOfRequests(), 6);
  EXPECT_EQ(use.QuotaOfBytes(), std::nullopt);
}

TEST(CallerTableTest, NamesTheLineThatIsWrong) {
  const std::string hash = HexOf(kToken);
  const std::string good = absl::StrCat("caller=a token-sha256=", hash, " scopes=reduce\n");
  const struct {
    std::string text;
    const char* error;
  } cases[] = {
      {"", "no line names a caller"},
      {"# nothing\n\n", "no line names a caller"},
      {"caller=a scopes=reduce",
       "line 1: caller: has neither token-sha256, certificate nor listener"},
      {absl::StrCat(good, "caller=a certificate=x scopes=reduce"), "line 2: caller: a line above"},
      {absl::StrCat(good, "caller=b scopes=reduce token-sha256=", hash),
       "line 2: token-sha256: a token has one caller"},
      {absl::StrCat("caller=b scopes=reduce token-sha256=", hash, ",", hash),
       "line 1: token-sha256: a token has one caller"},
      {"caller=a certificate=x scopes=reduce\ncaller=b certificate=x scopes=reduce",
       "line 2: certificate: a name has one caller"},
      {"caller=a listener=unix:/run/a scopes=reduce\ncaller=b listener=unix:/run/a scopes=reduce",
       "line 2: listener: it has one caller"},
      {"caller=a listener=unix:/run/b scopes=reduce",
       "line 1: listener: the server does not listen there: --listen-address has 127.0.0.1:1, "
       "unix:/run/a"},
      {"caller=a listener= scopes=reduce", "line 1: listener: has no value"},
      {"caller=a certificate=x", "line 1: scopes: is missing"},
      {"caller=a certificate=x scopes=reduce,",
       "line 1: scopes: one of them is unknown: there are reduce, resident, memory, metrics, "
       "admin"},
      {"caller=a certificate=x scopes=reduce, memory", "line 1: a word has no '='"},
      {"caller=a certificate=x scopes=reduce,admin", "line 1: scopes: admin goes with resident"},
      {"caller=a certificate=x scopes=reduce,root", "line 1: scopes: one of them is unknown"},
      {"caller=a certificate=x scopes=reduce,reduce", "line 1: scopes: reduce is there twice"},
      {"caller=any certificate=x scopes=reduce", "line 1: caller: 'any' is no name"},
      {absl::StrCat("caller=a scopes=reduce token-sha256=", hash, " token-sha256=", HexOf(kOther)),
       "line 1: token-sha256: is there twice"},
      {"caller=a certificate=x scopes=reduce scopes=memory", "line 1: scopes: is there twice"},
      {"caller=a certificate= scopes=reduce", "line 1: certificate: has no value"},
      {"caller= certificate=x scopes=reduce", "line 1: caller: has no value"},
      {"certificate=x scopes=reduce", "line 1: caller: a name has 1 to 64"},
      {"caller=a:b certificate=x scopes=reduce", "line 1: caller: a name has 1 to 64"},
      {absl::StrCat("caller=", std::string(65, 'a'), " certificate=x scopes=reduce"),
       "line 1: caller: a name has 1 to 64"},
      {absl::StrCat("caller=anonymous scopes=reduce token-sha256=", hash),
       "line 1: caller: anonymous shows nothing"},
      {absl::StrCat("caller=a scopes=reduce token-sha256=", kToken),
       "line 1: token-sha256: is no SHA-256"},
      {absl::StrCat("caller=a scopes=reduce token-sha256=", hash, "0"),
       "line 1: token-sha256: is no SHA-256"},
      {absl::StrCat("caller=a scopes=reduce token-sha256=", hash, ","),
       "line 1: token-sha256: is no SHA-256"},
      {absl::StrCat("caller=a scopes=reduce max-regions=", kToken),
       "line 1: max-regions: is no whole number of 1 or more"},
      {absl::StrCat("caller=a scopes=reduce max-resident-bytes=", kToken),
       "line 1: max-resident-bytes: is no size of 1 byte or more: a whole number of bytes, or of "
       "KiB, MiB, GiB, TiB"},
      {"caller=a scopes=reduce max-regions=0", "line 1: max-regions: is no whole number of 1"},
      {"caller=a scopes=reduce max-regions=-1", "line 1: max-regions: is no whole number of 1"},
      {"caller=a scopes=reduce max-regions=", "line 1: max-regions: is no whole number of 1"},
      {"caller=a scopes=reduce max-regions=1GiB", "line 1: max-regions: is no whole number of 1"},
      {"caller=a scopes=reduce max-bytes-in-flight=0",
       "line 1: max-bytes-in-flight: is no size of 1 byte or more"},
      {"caller=a scopes=reduce max-regions=1 max-regions=1", "line 1: max-regions: is there twice"},
      {"\xEF\xBB\xBF# callers\ncaller=a certificate=x scopes=reduce",
       "line 1: begins with a byte order mark: save the file as UTF-8 without one"},
      {"\xFF\xFE#", "line 1: begins with a byte order mark"},
      {"\xFE\xFF", "line 1: begins with a byte order mark"},
      {"caller=a scopes=reduce max-tensors=1",
       "line 1: a key is unknown: there are caller, token-sha256, certificate, listener, scopes, "
       "max-requests-in-flight, max-bytes-in-flight, max-resident-tensors, max-resident-bytes, "
       "max-regions"},
      {absl::StrCat("caller=a scopes=reduce ", kToken), "line 1: a word has no '='"},
      {absl::StrCat("caller=a scopes=reduce ", kToken, "=1"),
       "line 1: a key is unknown: there are"},
  };
  for (const auto& one : cases) {
    const std::string error = ErrorOf(one.text);
    EXPECT_EQ(error.substr(0, std::string(one.error).size()), one.error) << one.text;
    // It may be a secret in the wrong place.
    EXPECT_EQ(error.find(kToken), std::string::npos) << error;
    EXPECT_EQ(error.find(hash), std::string::npos) << error;
  }
}

TEST(CallerTableTest, ATokenIsLongAndPrintable) {
  EXPECT_TRUE(CheckToken(kToken).ok());
  EXPECT_TRUE(CheckToken(std::string(4096, '~')).ok());
  for (const std::string& bad :
       {std::string(), std::string(15, 'a'), std::string(4097, 'a'), std::string(16, ' '),
        std::string("has a blank in it, yes"), std::string("ends with a tab\tor"),
        std::string("\xc3\xa4 is no ASCII......")}) {
    const absl::Status status = CheckToken(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_TRUE(bad.empty() || status.message().find(bad) == absl::string_view::npos);
  }
}

}  // namespace
}  // namespace warpfold
