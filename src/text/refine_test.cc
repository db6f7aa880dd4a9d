// Words that differ, and blanks that do not count.
#include "text/refine.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "text/unified.h"

namespace weft::text {
namespace {

using Kind = WordPiece::Kind;

std::string marked(std::string_view line, const std::vector<Span>& spans) {
  std::string out;
  std::size_t at = 0;
  for (const auto& span : spans) {
    out += std::string(line.substr(at, span.begin - at)) + "<" +
           std::string(line.substr(span.begin, span.end - span.begin)) + ">";
    at = span.end;
  }
  return out + std::string(line.substr(at));
}

TEST(Refine, MarksTheWordsThatDiffer) {
  const std::vector<std::string_view> removed = {"  return width + 1;\n"}, added = {"  return height + 1;\n"};
  const auto refined = refine_lines(removed, added);
  EXPECT_EQ(marked(removed[0], refined.removed[0]), "  return <width> + 1;\n");
  EXPECT_EQ(marked(added[0], refined.added[0]), "  return <height> + 1;\n");
}

TEST(Refine, ALineThatIsAllDifferentIsNotMarked) {
  const auto refined = refine_lines({"alpha beta gamma\n"}, {"one two three\n"});
  EXPECT_TRUE(refined.removed[0].empty());
  EXPECT_TRUE(refined.added[0].empty());
}

TEST(Refine, NoCharacterIsCutInTwo) {
  const std::vector<std::string_view> removed = {"say na\xc3\xafve words here\n"},
                                      added = {"say na\xc3\xa0ve words here\n"};
  const auto refined = refine_lines(removed, added);
  EXPECT_EQ(marked(added[0], refined.added[0]), "say <na\xc3\xa0ve> words here\n");
}

TEST(Refine, IsBounded) {
  std::string line;
  while (line.size() <= kMaxRefinedBytes) line += "x y ";
  const auto refined = refine_lines({line}, {line + "z"});
  EXPECT_TRUE(refined.added[0].empty());
  EXPECT_TRUE(refine_lines({}, {"x\n"}).added[0].empty());
}

std::string words_text(std::string_view before, std::string_view after) {
  std::string out;
  for (const auto& piece : diff_words(before, after)) {
    if (piece.kind == Kind::common) out += piece.text;
    if (piece.kind == Kind::removed) out += "[-" + std::string(piece.text) + "-]";
    if (piece.kind == Kind::added) out += "{+" + std::string(piece.text) + "+}";
  }
  return out;
}

TEST(Words, AsGitShowsThem) {
  EXPECT_EQ(words_text("a b c\n", "a x c\n"), "a [-b-]{+x+} c\n");
  EXPECT_EQ(words_text("a b\n", "a b c\n"), "a b {+c+}\n");
  EXPECT_EQ(words_text("a b c\n", "a c\n"), "a[-b-] c\n");
  EXPECT_EQ(words_text("a  b\n", "a b\n"), "a b\n");
  EXPECT_EQ(words_text("a\n", ""), "[-a\n-]");
  EXPECT_EQ(words_text("", "b\n"), "{+b\n+}");
}

/// Whatever is shown as common or added is the new text, byte for byte; the words of the old are all there.
RC_GTEST_PROP(Words, LoseNothing, ()) {
  const auto text = [] {
    std::string out;
    for (const auto& word : *rc::gen::container<std::vector<std::string>>(
             rc::gen::element<std::string>("a", "b", "cc", " ", "\n", "  "))) {
      out += word;
    }
    return out;
  };
  const std::string before = text(), after = text();
  std::string shown, old_words;
  for (const auto& piece : diff_words(before, after)) {
    if (piece.kind != Kind::removed) shown += piece.text;
    if (piece.kind != Kind::added) (old_words += piece.text) += ' ';
  }
  RC_ASSERT(shown == after);
  const auto squeezed = [](std::string words) {
    std::erase_if(words, [](char c) { return c == ' ' || c == '\n'; });
    return words;
  };
  RC_ASSERT(squeezed(old_words) == squeezed(before));
}

std::string changed(std::string_view before, std::string_view after, const CompareOptions& options) {
  UnifiedOptions unified;
  unified.compare = options;
  unified.context = 1;
  return unified_text(unified_diff(before, after, unified));
}

TEST(Blanks, CountAsAsked) {
  CompareOptions at_end{Whitespace::ignore_at_end, false}, amount{Whitespace::ignore_amount, false},
      all{Whitespace::ignore_all, false};
  EXPECT_EQ(changed("a b\n", "a b  \r\n", at_end), "");
  EXPECT_NE(changed("a b\n", "a  b\n", at_end), "");
  EXPECT_EQ(changed("a b\n", "a \t b \n", amount), "");
  EXPECT_NE(changed("a b\n", "ab\n", amount), "");
  EXPECT_NE(changed("a\n", " a\n", amount), "");
  EXPECT_EQ(changed("a b\n", "\ta  b", all), "");
  EXPECT_EQ(changed("ab\n", "a b\n", all), "");
  // Context is the new text's.
  EXPECT_EQ(changed("x\n  a\ny\n", "x\n\ta\nz\n", all), "@@ -2,2 +2,2 @@ x\n \ta\n-y\n+z\n");
  EXPECT_EQ(count_changed_lines("a b\nc\n", "ab\nd\n", all).added, 1U);
}

TEST(Blanks, BlankLinesAlone) {
  const CompareOptions options{Whitespace::exact, true};
  EXPECT_EQ(changed("a\nb\n", "a\n\nb\n", options), "");
  EXPECT_EQ(changed("a\nb\nc\n", "a\n\nb\nd\n", options), "@@ -2,2 +3,2 @@ a\n b\n-c\n+d\n");
  EXPECT_EQ(count_changed_lines("a\n", "a\n\n\n", options).added, 0U);
}

}  // namespace
}  // namespace weft::text
