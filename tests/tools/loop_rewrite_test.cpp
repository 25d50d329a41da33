// Which loops of a source get schedule(runtime), where exactly, and what is left alone: text in, text out.
#include "omp_rewrite/loop_rewrite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tri::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string rewritten(std::string_view source, source_form form = source_form::c, const rewrite_options& options = {}) {
  return apply_edits(source, rewrite_loops(source, form, options).edits);
}
std::string free_form(std::string_view source, const rewrite_options& options = {}) {
  return rewritten(source, source_form::fortran_free, options);
}
std::string fixed_form(std::string_view source, const rewrite_options& options = {}) {
  return rewritten(source, source_form::fortran_fixed, options);
}

// Why the only loop of the source is left; fails when it is not.
std::string why_left(std::string_view source, source_form form = source_form::c) {
  const rewritten_source result = rewrite_loops(source, form, {});
  EXPECT_THAT(result.edits, IsEmpty()) << source;
  EXPECT_EQ(result.loops.size(), 1u) << source;
  if (result.loops.size() != 1) return {};
  EXPECT_EQ(result.loops[0].outcome, loop_outcome::left) << source;
  return result.loops[0].reason;
}

TEST(loop_rewrite, every_worksharing_loop_of_c_gets_the_clause) {
  for (const char* name :
       {"for", "parallel for", "for simd", "parallel for simd", "distribute parallel for",
        "distribute parallel for simd", "teams distribute parallel for", "teams distribute parallel for simd"}) {
    const std::string before = std::string("#pragma omp ") + name;
    EXPECT_EQ(rewritten(before + " private(x)\nfor (;;);\n"), before + " schedule(runtime) private(x)\nfor (;;);\n");
  }
}

TEST(loop_rewrite, other_constructs_are_no_loops) {
  for (const char* name : {"simd",
                           "sections",
                           "parallel sections",
                           "loop",
                           "parallel loop",
                           "teams loop bind(teams)",
                           "taskloop",
                           "taskloop simd",
                           "parallel master taskloop",
                           "distribute",
                           "distribute simd",
                           "single nowait",
                           "cancel for",
                           "cancellation point for",
                           "critical(for)",
                           "declare simd",
                           "target data map(x)",
                           "parallel",
                           "barrier",
                           "ordered",
                           "task",
                           "atomic",
                           "threadprivate(x)",
                           "metadirective when(user={condition(1)}: parallel for)"}) {
    const std::string source = std::string("#pragma omp ") + name + "\nfor (;;);\n";
    const rewritten_source result = rewrite_loops(source, source_form::c, {});
    EXPECT_THAT(result.edits, IsEmpty()) << name;
    EXPECT_THAT(result.loops, IsEmpty()) << name;
    EXPECT_THAT(result.doubts, IsEmpty()) << name;
  }
}

TEST(loop_rewrite, a_static_schedule_is_replaced_where_it_stands) {
  EXPECT_EQ(rewritten("#pragma omp for private(i) schedule(static) shared(x)\n"),
            "#pragma omp for private(i) schedule(runtime) shared(x)\n");
  EXPECT_EQ(rewritten("#pragma omp for schedule ( monotonic , simd : static )\n"),
            "#pragma omp for schedule ( monotonic , simd : runtime )\n");
  EXPECT_EQ(rewritten("#pragma omp for schedule(static,4)\n"), "#pragma omp for schedule(static,4)\n");
  EXPECT_EQ(rewritten("#pragma omp for schedule(static, 4 * n)\n", source_form::c, {.chunked = true}),
            "#pragma omp for schedule(runtime)\n");
}

TEST(loop_rewrite, clauses_with_brackets_commas_and_strings_are_understood) {
  EXPECT_EQ(rewritten("#pragma omp parallel for if(parallel: f(')', \")\")) , num_threads((n))schedule(static)\n"),
            "#pragma omp parallel for if(parallel: f(')', \")\")) , num_threads((n))schedule(runtime)\n");
}

TEST(loop_rewrite, continued_lines_and_comments) {
  EXPECT_EQ(rewritten("#pragma omp parallel for \\\n  private(x) \\\n  shared(y)\n"),
            "#pragma omp parallel for schedule(runtime) \\\n  private(x) \\\n  shared(y)\n");
  EXPECT_EQ(rewritten("# \\\n pragma omp par\\\nallel for sched\\\nule(sta\\\ntic) // x\n"),
            "# \\\n pragma omp par\\\nallel for sched\\\nule(runtime) // x\n");
  EXPECT_EQ(rewritten("#pragma omp for// nothing more\nfor (;;);\n"),
            "#pragma omp for schedule(runtime)// nothing more\nfor (;;);\n");
  EXPECT_EQ(rewritten("  /* a */ # /* b */ pragma omp /* c\n d */ for /* e\n */ nowait\nfor (;;);\n"),
            "  /* a */ # /* b */ pragma omp /* c\n d */ for /* e\n */ nowait\nfor (;;);\n");
  EXPECT_EQ(rewritten("#pragma omp for", source_form::c), "#pragma omp for schedule(runtime)");
}

TEST(loop_rewrite, what_only_looks_like_a_directive) {
  for (const char* source :
       {"// #pragma omp for\n", "/*\n#pragma omp for\n*/\n", "// \\\n#pragma omp for\n",
        "const char* s = \"\\\n#pragma omp for\\\n\";\n", "auto s = R\"x(\n#pragma omp for\n)\" )x\";\n",
        "int x; #pragma omp for\n", "#pragma ompx for\n", "#pragma acc for\n", "int n = 1'000; char c = '\"';\n",
        "#define F \"omp for\"\n"}) {
    const rewritten_source result = rewrite_loops(source, source_form::c, {});
    EXPECT_THAT(result.loops, IsEmpty()) << source;
    EXPECT_THAT(result.doubts, IsEmpty()) << source;
  }
  // ... and does not hide the one behind it.
  EXPECT_EQ(rewritten("int n = 1'000;\n#error don't\nchar c = '\"', d = '\\'';\n#pragma omp for\n"),
            "int n = 1'000;\n#error don't\nchar c = '\"', d = '\\'';\n#pragma omp for schedule(runtime)\n");
  EXPECT_EQ(rewritten("auto s = uR\"(\")\";\n#pragma omp for\n"),
            "auto s = uR\"(\")\";\n#pragma omp for schedule(runtime)\n");
}

TEST(loop_rewrite, pragma_operators_and_macros_that_make_them) {
  EXPECT_EQ(rewritten("_Pragma(\"omp parallel for if(f(\\\"(\\\"))\") for (;;);\n"),
            "_Pragma(\"omp parallel for schedule(runtime) if(f(\\\"(\\\"))\") for (;;);\n");
  EXPECT_EQ(rewritten("#define LOOP _Pragma(\"omp for schedule(static)\")\n"),
            "#define LOOP _Pragma(\"omp for schedule(runtime)\")\n");
  EXPECT_EQ(rewritten("#define OMP(x) _Pragma(#x)\nOMP(omp for private(x))\nOMP(x)\n"),
            "#define OMP(x) _Pragma(#x)\nOMP(omp for schedule(runtime) private(x))\nOMP(x)\n");
  EXPECT_EQ(rewritten("#define OMP(...) _Pragma(#__VA_ARGS__)\nOMP(omp for private(x, y))\n"),
            "#define OMP(...) _Pragma(#__VA_ARGS__)\nOMP(omp for schedule(runtime) private(x, y))\n");
  EXPECT_THAT(why_left("#define LOOP _Pragma(\"omp for collapse(2)\")\n"), HasSubstr("could not be read"));
}

TEST(loop_rewrite, macros_that_use_such_macros) {
  const std::string two = "#define OMP(x) DO_PRAGMA(omp x)\n#define DO_PRAGMA(x) _Pragma(#x)\n";
  EXPECT_EQ(rewritten(two + "OMP(parallel for private(x))\n"),
            two + "OMP(parallel for schedule(runtime) private(x))\n");
  EXPECT_THAT(why_left(two + "OMP(for nowait)\n"), HasSubstr("nowait"));
  const std::string three = "#define STR(x) #x\n#define OMP_FOR(...) _Pragma(STR(omp parallel for __VA_ARGS__))\n";
  EXPECT_EQ(rewritten(three + "OMP_FOR(private(x))\nOMP_FOR()\n"),
            three + "OMP_FOR(private(x) schedule(runtime))\nOMP_FOR(schedule(runtime))\n");
  EXPECT_EQ(rewritten(three + "OMP_FOR(schedule(static))\n"), three + "OMP_FOR(schedule(runtime))\n");
  const std::string renamed = "#define A(x) B(x)\n#define B(x) _Pragma(#x)\n";
  EXPECT_EQ(rewritten(renamed + "A(omp for)\n"), renamed + "A(omp for schedule(runtime))\n");
  for (const char* none : {"#define OMP(x) f(omp x)\nOMP(for)\n", "#define OMP(x, y) _Pragma(#x)\nOMP(omp for, 1)\n",
                           "#define OMP(x) _Pragma(#x)\n#define OMP(x)\nOMP(omp for)\n"})
    EXPECT_EQ(rewritten(none), none);
}

TEST(loop_rewrite, attributes_of_cxx) {
  EXPECT_EQ(rewritten("[[omp::directive(parallel for, schedule(static))]] for (;;);\n"),
            "[[omp::directive(parallel for, schedule(runtime))]] for (;;);\n");
  EXPECT_EQ(rewritten("[[omp::sequence(directive(parallel), omp::directive(for, private(x)))]] for (;;);\n"),
            "[[omp::sequence(directive(parallel), omp::directive(for schedule(runtime), private(x)))]] for (;;);\n");
  EXPECT_EQ(rewritten("[[using omp : directive(for)]] a[b[0]] = directive(for);\n"),
            "[[using omp : directive(for schedule(runtime))]] a[b[0]] = directive(for);\n");
}

TEST(loop_rewrite, macros_of_the_file_are_looked_into) {
  EXPECT_EQ(rewritten("#define X private(a)\n#pragma omp for X\n"),
            "#define X private(a)\n#pragma omp for schedule(runtime) X\n");
  EXPECT_EQ(rewritten("#define KIND static\n#pragma omp for schedule(KIND)\n"),
            "#define KIND static\n#pragma omp for schedule(runtime)\n");
  EXPECT_EQ(rewritten("#define B private(a)\n#define A B\n#pragma omp A for\n"),
            "#define B private(a)\n#define A B\n#pragma omp A for\n");
  EXPECT_EQ(rewritten("#define LOOP parallel for\n#pragma omp LOOP private(x)\n"),
            "#define LOOP parallel for\n#pragma omp LOOP private(x) schedule(runtime)\n");
  EXPECT_THAT(why_left("#define X private(a) schedule(static)\n#pragma omp for X\n"), HasSubstr("from the macro X"));
  EXPECT_THAT(why_left("#define X nowait\n#define Y X\n#pragma omp for Y\n"), HasSubstr("nowait"));
  EXPECT_THAT(why_left("#pragma omp for X\n"), HasSubstr("'X' is not a known clause"));
  EXPECT_THAT(why_left("#pragma omp for schedule(KIND)\n"), HasSubstr("the schedule kind is 'KIND'"));
  EXPECT_THAT(why_left("#define X(a) private(a)\n#pragma omp for X(b)\n"), HasSubstr("'X' is not a known clause"));
  EXPECT_THAT(why_left("#ifdef Y\n#define X nowait\n#else\n#define X\n#endif\n#pragma omp for X\n"),
              HasSubstr("several definitions"));
  // Definitions that agree in what matters.
  EXPECT_EQ(rewritten("#ifdef Y\n#define X private(b)\n#else\n#define X\n#endif\n#pragma omp for X\n"),
            "#ifdef Y\n#define X private(b)\n#else\n#define X\n#endif\n#pragma omp for schedule(runtime) X\n");
  EXPECT_EQ(rewritten("#define X X\n#pragma omp for private(X)\n"),
            "#define X X\n#pragma omp for schedule(runtime) private(X)\n");
}

TEST(loop_rewrite, conditional_parts) {
  EXPECT_EQ(rewritten("#ifdef A\n#pragma omp for\n#else\n#pragma omp for schedule(static)\n#endif\n"),
            "#ifdef A\n#pragma omp for schedule(runtime)\n#else\n#pragma omp for schedule(runtime)\n#endif\n");
  EXPECT_THAT(why_left("#if 0\ndon't\n#if A\n#endif\n#pragma omp for\n#endif\n"), HasSubstr("inside #if 0"));
  EXPECT_THAT(why_left("#if 1\n#else\n#pragma omp for\n#endif\n"), HasSubstr("inside #if 0"));
  EXPECT_EQ(rewritten("#if 0\n#elif A\n#pragma omp for\n#endif\n"),
            "#if 0\n#elif A\n#pragma omp for schedule(runtime)\n#endif\n");
}

TEST(loop_rewrite, what_is_reachable_already_stays) {
  const rewritten_source result = rewrite_loops(
      "#pragma omp for schedule(dynamic)\n#pragma omp for schedule(monotonic:guided,2) nowait\n"
      "#pragma omp for ordered schedule(runtime)\n",
      source_form::c, {});
  EXPECT_THAT(result.edits, IsEmpty());
  EXPECT_EQ(result.loops.size(), 3u);
  EXPECT_EQ(result.count(loop_outcome::reachable), 3u);
}

TEST(loop_rewrite, loops_that_are_left_alone) {
  EXPECT_THAT(why_left("#pragma omp for ordered(2)\n"), HasSubstr("depend on each other"));
  EXPECT_THAT(why_left("#pragma omp for ordered\n"), HasSubstr("take turns"));
  EXPECT_THAT(why_left("#pragma omp for ordered(1) linear(x)\n"), HasSubstr("depend on each other"));
  EXPECT_THAT(why_left("#pragma omp for reduction(inscan, +: x)\n"), HasSubstr("scan"));
  EXPECT_THAT(why_left("#pragma omp target teams distribute parallel for\n"), HasSubstr("device"));
  EXPECT_THAT(why_left("#pragma omp teams distribute parallel for dist_schedule(static)\n"),
              HasSubstr("dist_schedule"));
  EXPECT_THAT(why_left("#pragma omp for nowait\n"), HasSubstr("--nowait"));
  EXPECT_THAT(why_left("#pragma omp for schedule(static) nowait\n"), HasSubstr("--nowait"));
  EXPECT_THAT(why_left("#pragma omp for schedule(static,2)\n"), HasSubstr("--chunked"));
  EXPECT_THAT(why_left("#pragma omp for schedule(auto)\n"), HasSubstr("auto"));
  EXPECT_THAT(why_left("#pragma omp for schedule()\n"), HasSubstr("empty"));
  EXPECT_THAT(why_left("#pragma omp for private(x\n"), HasSubstr("not closed"));
  EXPECT_THAT(why_left("#pragma omp for schedule(static) schedule(static)\n"), HasSubstr("several schedule clauses"));
  EXPECT_THAT(why_left("#pragma omp for + private(x)\n"), HasSubstr("'+' stands where a clause is expected"));
}

TEST(loop_rewrite, nowait_on_request) {
  EXPECT_EQ(rewritten("#pragma omp for nowait\n", source_form::c, {.nowait = true}),
            "#pragma omp for schedule(runtime) nowait\n");
}

// A static loop behind a nowait one needs no barrier as long as both share out the iterations alike.
TEST(loop_rewrite, loops_that_a_nowait_loop_may_rely_on_are_left_too) {
  const auto outcomes = [](std::string_view source, const rewrite_options& options = {}) {
    std::string letters;
    for (const loop_verdict& each : rewrite_loops(source, source_form::c, options).loops)
      letters += each.outcome == loop_outcome::changed ? 'c' : each.outcome == loop_outcome::left ? 'l' : 'r';
    return letters;
  };
  const std::string loop = "#pragma omp for\n";
  const std::string nowait = "#pragma omp for nowait\n";
  EXPECT_EQ(outcomes(nowait + loop + loop), "llc");
  EXPECT_EQ(outcomes(nowait + nowait + loop + loop), "lllc");
  EXPECT_EQ(outcomes(nowait + loop + loop, {.nowait = true}), "ccc");
  EXPECT_EQ(outcomes(nowait + "#pragma omp barrier\n" + loop), "lc");
  EXPECT_EQ(outcomes(nowait + "#pragma omp parallel\n" + loop), "lc");
  EXPECT_EQ(outcomes(nowait + "#pragma omp parallel for\n" + loop), "lcc");
  EXPECT_EQ(outcomes("#pragma omp for schedule(dynamic) nowait\n" + loop), "rc");
  EXPECT_EQ(outcomes(nowait + "#pragma omp for schedule(dynamic) nowait\n" + loop), "lrl");
  EXPECT_EQ(outcomes(nowait + "#pragma omp for schedule(dynamic)\n" + loop), "lrc");
  EXPECT_EQ(outcomes("#pragma omp for UNKNOWN\n" + loop), "ll");  // which may be nowait
  EXPECT_EQ(outcomes("#if 0\n" + nowait + "#endif\n" + loop), "lc");
  EXPECT_THAT(rewrite_loops(nowait + loop, source_form::c, {}).loops[1].reason, HasSubstr("nowait loop of line 1"));
}

// Which loops of a source are changed (c), left (l) or reachable (r), in their order.
std::string outcomes_of(std::string_view source, const rewrite_options& options = {}) {
  std::string letters;
  for (const loop_verdict& each : rewrite_loops(source, source_form::c, options).loops)
    letters += each.outcome == loop_outcome::changed ? 'c' : each.outcome == loop_outcome::left ? 'l' : 'r';
  return letters;
}

// A function with a region of these statements; `LOOP(x)` stands for a static loop over n with that body.
std::string region_of(std::string body, const std::string& clauses = "", const std::string& before = "") {
  const std::string head = "\n#pragma omp for schedule(static)\nfor (int i = 0; i < n; i++) ";
  for (std::size_t at = body.find("LOOP("); at != std::string::npos; at = body.find("LOOP(")) {
    std::size_t end = at + 5;
    for (int depth = 1; depth > 0; ++end) depth += body[end] == '(' ? 1 : body[end] == ')' ? -1 : 0;
    body = body.substr(0, at) + head + body.substr(at + 5, end - at - 6) + body.substr(end);
  }
  return before + "void f(int n, double* a) {\n#pragma omp parallel " + clauses + "\n{\n" + body + "\n}\n}\n";
}

// OpenMP promises static loops of a region, with as many iterations, the same iterations on each thread: whatever a
// thread keeps for itself may rely on that, a barrier or not.
TEST(loop_rewrite, loops_that_share_data_of_their_thread_are_left) {
  const std::string number = "int me = omp_get_thread_num();";
  EXPECT_EQ(outcomes_of(region_of(number + "LOOP(a[i] = me;) LOOP(a[i] -= me;)")), "ll");
  EXPECT_EQ(outcomes_of(region_of(number + "LOOP(a[i] = me;) LOOP(a[i] -= me;)"), {.same_threads = true}), "cc");
  EXPECT_EQ(outcomes_of(region_of(number + "LOOP(a[i] = me;)\n#pragma omp barrier\n LOOP(a[i] -= me;)")), "ll");
  EXPECT_EQ(outcomes_of(region_of(number + "LOOP(a[i] = me;) LOOP(a[i] -= 1;)")), "cc") << "only one uses it";
  EXPECT_EQ(outcomes_of(region_of(number + "LOOP(a[i] = me;)")), "c");
  EXPECT_EQ(outcomes_of(region_of(number + "double* p = a + me * n; LOOP(p[i] = 1;) LOOP(p[i]++;)")), "ll");
  EXPECT_EQ(outcomes_of(region_of("int m = n / 2; LOOP(a[i] = m;) LOOP(a[i] -= m;)")), "cc") << "the same for all";
  EXPECT_EQ(outcomes_of(region_of("double own[9]; LOOP(own[i] = 1;) LOOP(a[i] = own[i];)")), "ll");
  EXPECT_EQ(outcomes_of(region_of("std::vector<double> own(n); LOOP(own[i] = 1;) LOOP(a[i] = own[i];)")), "ll");
  EXPECT_EQ(outcomes_of(region_of("double* own = malloc(n); LOOP(own[i] = 1;) LOOP(a[i] = own[i];)")), "ll");
  EXPECT_EQ(outcomes_of(region_of("static double ours[9]; LOOP(ours[i] = 1;) LOOP(a[i] = ours[i];)")), "cc");
  EXPECT_EQ(outcomes_of(region_of("int x = 0; if (me() > 1) x = 2; LOOP(a[i] = x;) LOOP(a[i] -= x;)")), "ll");
  EXPECT_EQ(outcomes_of(region_of("int x;\n#pragma omp single\nx = 1;\nLOOP(a[i] = x;) LOOP(a[i] -= x;)")), "ll");
  EXPECT_EQ(outcomes_of(region_of("int x = 0; LOOP(x += i;) LOOP(a[i] = x;)")), "ll");
  EXPECT_EQ(outcomes_of(region_of("int x; LOOP({ x = i; a[i] = x; }) LOOP({ x = 2; a[i] += x; })")), "cc");
  EXPECT_EQ(outcomes_of(region_of("int x; LOOP({ if (i) x = i; a[i] = x; }) LOOP({ x = 2; a[i] += x; })")), "cc")
      << "the second sets it before it reads it";
  EXPECT_EQ(outcomes_of(region_of("int x; LOOP({ x = i; a[i] = x; }) LOOP({ if (a[i]) x = 2; a[i] += x; })")), "cc")
      << "the first sets it before it reads it";
  EXPECT_EQ(outcomes_of(region_of("int x; LOOP({ if (i) x = i; a[i] = x; }) LOOP({ if (a[i]) x = 2; a[i] += x; })")),
            "ll");
  EXPECT_EQ(outcomes_of(region_of("LOOP(t[i] = 1;) LOOP(t[i]++;)", "private(t)", "double t[9];\n")), "ll");
  EXPECT_EQ(outcomes_of(region_of("LOOP(t[i] = 1;) LOOP(t[i]++;)", "firstprivate(a) private(t)", "double t[9];\n")),
            "ll");
  EXPECT_EQ(outcomes_of(region_of("LOOP(t[i] = 1;) LOOP(t[i]++;)", "", "double t[9];\n")), "cc");
  EXPECT_EQ(outcomes_of(region_of("LOOP(x += i;) LOOP(x -= i;)", "reduction(+: x)", "int x;\n")), "ll");
  EXPECT_EQ(outcomes_of(region_of("LOOP(t[i] = 1;) LOOP(t[i]++;)", "", "double t[9];\n#pragma omp threadprivate(t)\n")),
            "ll");
  EXPECT_EQ(outcomes_of(region_of("LOOP(t[i] = 1;) LOOP(t[i]++;)", "", "thread_local double t[9];\n")), "ll");
  EXPECT_EQ(outcomes_of(region_of("LOOP(a[i] = ME;) LOOP(a[i] -= ME;)", "", "#define ME omp_get_thread_num()\n")),
            "ll");
  EXPECT_EQ(outcomes_of(region_of("LOOP(x[i]++;) LOOP(x[i]--;)", "default(private)")), "ll");
  EXPECT_EQ(outcomes_of(region_of("LOOP(x[i]++;) LOOP(x[i]--;)", "UNKNOWN")), "ll");
  const std::string pair = region_of(number + "LOOP(a[i] = me;) LOOP(a[i] -= me;)");
  EXPECT_THAT(rewrite_loops(pair, source_form::c, {}).loops[0].reason, HasSubstr("uses 'me', of which each thread"));
  EXPECT_THAT(rewrite_loops(pair, source_form::c, {}).loops[0].reason, HasSubstr("so does the loop of line 7"));
}

TEST(loop_rewrite, loops_that_share_out_differently_promise_nothing) {
  const auto pair = [](const std::string& first, const std::string& second) {
    return "#define N 100\nvoid f() {\n#pragma omp parallel\n{ int me = omp_get_thread_num();\n#pragma omp for " +
           first + " g[i] = me;\n#pragma omp for " + second + " g[i] -= me;\n}}\n";
  };
  const std::string to_n = "\nfor (int i = 0; i < N; i++)", to_100 = "\nfor (int i = 1; i <= 100; ++i)",
                    to_99 = "\nfor (int i = 0; i < 99; i++)", to_m = "\nfor (int i = 0; i < m; i++)";
  EXPECT_EQ(outcomes_of(pair(to_n, to_100)), "ll");
  EXPECT_EQ(outcomes_of(pair(to_n, to_99)), "cc");
  EXPECT_EQ(outcomes_of(pair(to_n, to_m)), "ll") << "not known";
  EXPECT_EQ(outcomes_of(pair("collapse(2)" + to_n + to_n, "collapse(2)" + to_99 + to_99)), "ll") << "not read";
  EXPECT_EQ(outcomes_of(pair(to_n, "schedule(dynamic)" + to_n)), "cr");
  EXPECT_EQ(outcomes_of(pair(to_n, "schedule(static,4)" + to_n)), "cl") << "left because of its chunk only";
  EXPECT_EQ(outcomes_of(pair("schedule(static,4)" + to_n, "schedule(static,4)" + to_n), {.chunked = true}), "ll");
}

TEST(loop_rewrite, a_loop_that_runs_several_times_in_a_region_is_a_pair_with_itself) {
  const std::string own = "double own[9];";
  EXPECT_EQ(outcomes_of(region_of(own + "LOOP(own[i]++;)")), "c");
  EXPECT_EQ(outcomes_of(region_of(own + "for (int t = 0; t < 9; t++) { LOOP(own[i]++;) }")), "l");
  EXPECT_EQ(outcomes_of(region_of(own + "while (more) { LOOP(own[i]++;) }")), "l");
  EXPECT_EQ(outcomes_of(region_of(own + "do { LOOP(own[i]++;) } while (more);")), "l");
  EXPECT_EQ(outcomes_of(region_of(own + "again: LOOP(own[i]++;) if (more) goto again;")), "l");
  EXPECT_EQ(outcomes_of("void f(int n) { for (;;) {\n#pragma omp parallel\n{ double own[9];\n#pragma omp for\n"
                        "for (int i = 0; i < n; i++) own[i]++;\n} } }\n"),
            "c")
      << "a region each time";
}

TEST(loop_rewrite, loops_of_functions_and_what_they_are_given) {
  const std::string loop = "\n#pragma omp for\nfor (int i = 0; i < n; i++) ";
  const auto region = [](const std::string& body) {
    return "int main() { int n = 9; double all[9];\n#pragma omp parallel\n{ " + body + " }\n}\n";
  };
  const std::string use = "static void g(int n, double* x) {" + loop + "x[i] += 1; }\n";
  EXPECT_EQ(outcomes_of(use + region("g(n, all);")), "c");
  EXPECT_EQ(outcomes_of(use + region("double own[9]; g(n, own);")), "l");
  EXPECT_EQ(outcomes_of(use + region("g(n, all + omp_get_thread_num());")), "l");
  EXPECT_EQ(outcomes_of(use + "void h(int n, double* y) { g(n, y); }\n" + region("double own[9]; h(n, own);")), "l");
  EXPECT_EQ(outcomes_of(use + "void h(int n, double* y) { g(n, y); }\n" + region("h(n, all);")), "c");
  EXPECT_EQ(outcomes_of(use), "l") << "nobody knows who calls it";
  EXPECT_THAT(rewrite_loops(use, source_form::c, {}).loops[0].reason, HasSubstr("no caller of 'g' is in this file"));
  EXPECT_EQ(outcomes_of("double x[9]; static void g(int n) {" + loop + "x[i] += n; }\n"), "c");
  // Locals of a function last for one call: they make a pair inside it.
  EXPECT_EQ(outcomes_of("double x[9]; void g(int n) { double t[3];" + loop + "{ t[0] = i; x[i] = t[0]; } }\n"), "c");
  EXPECT_EQ(outcomes_of("double x[9]; void g(int n) { double t[9];" + loop + "t[i] = i;" + loop + "x[i] = t[i]; }\n"),
            "ll");
  // What is called from the loops.
  EXPECT_EQ(outcomes_of("int who() { return omp_get_thread_num(); }\n" +
                        region_of("LOOP(a[i] = who();) LOOP(a[i] -= who();)")),
            "ll");
  EXPECT_EQ(outcomes_of("int two() { return 2; }\n" + region_of("LOOP(a[i] = two();) LOOP(a[i] -= two();)")), "cc");
  EXPECT_EQ(outcomes_of(region_of("LOOP(a[i] = who();) LOOP(a[i] -= who();)")), "ll") << "it may be anything";
  EXPECT_EQ(outcomes_of(region_of("LOOP(a[i] = sqrt(a[i]);) LOOP(a[i] -= std::abs(a[i]);)")), "cc");
  EXPECT_EQ(outcomes_of(region_of("double own[9]; LOOP(own[i] = 1;) other();")), "l") << "it may have a loop";
}

TEST(loop_rewrite, nowait_beyond_the_text_between) {
  const std::string loop = "\n#pragma omp for\nfor (int i = 0; i < n; i++) a[i]++;";
  const std::string nowait = "\n#pragma omp for nowait\nfor (int i = 0; i < n; i++) a[i]++;";
  const std::string barrier = "\n#pragma omp barrier\n";
  const std::string begin = "double a[9]; int n;\n";
  const auto region = [](const std::string& body) {
    return "int main() {\n#pragma omp parallel\n{ " + body + " } }\n";
  };
  EXPECT_EQ(outcomes_of(begin + region("for (int t = 0; t < 9; t++) {" + loop + nowait + "}")), "ll");
  EXPECT_EQ(outcomes_of(begin + region("for (int t = 0; t < 9; t++) {" + loop + nowait + barrier + "}")), "cl");
  EXPECT_EQ(outcomes_of(begin + region("for (int t = 0; t < 9; t++) {" + barrier + loop + nowait + "}")), "cl");
  EXPECT_EQ(outcomes_of(begin + "void g() {" + nowait + "}\nvoid h() {}\n" + region("g();" + loop)), "ll");
  EXPECT_EQ(outcomes_of(begin + "void g() {" + nowait + barrier + "}\n" + region("g();" + loop)), "lc");
  EXPECT_EQ(outcomes_of(begin + "void g() {" + nowait + "}\n" + region("g();" + barrier + loop)), "lc");
  EXPECT_EQ(outcomes_of(begin + "void g() {" + loop + "}\n" + region(nowait + "g();")), "ll");
  EXPECT_EQ(outcomes_of(begin + "void g() {" + loop + "}\n" + region(nowait + barrier + "g();")), "cl");
}

TEST(loop_rewrite, fortran_loops_that_may_share_data_of_their_thread) {
  const auto outcomes = [](std::string_view source) {
    std::string letters;
    for (const loop_verdict& each : rewrite_loops(source, source_form::fortran_free, {}).loops)
      letters += each.outcome == loop_outcome::changed ? 'c' : 'l';
    return letters;
  };
  const std::string loop = "!$omp do\ndo i = 1, n\n  x(i) = own (i)\nend do\n!$omp end do\n";
  const auto region = [&](const std::string& clauses) {
    return "!$omp parallel " + clauses + "\n" + loop + loop + "!$omp end parallel\n";
  };
  EXPECT_EQ(outcomes(region("private(i)")), "cc");
  EXPECT_EQ(outcomes(region("private(i, own)")), "ll");
  EXPECT_EQ(outcomes(region("firstprivate(OWN)")), "ll");
  EXPECT_EQ(outcomes(region("default(private)")), "ll");
  EXPECT_EQ(outcomes(region("private(own)") + region("private(i)")), "llcc");
  EXPECT_EQ(outcomes("me = OMP_GET_THREAD_NUM()\n" + region("private(i)")), "ll");
  EXPECT_EQ(outcomes("!$omp threadprivate(/work/)\n" + loop), "l");
  EXPECT_EQ(outcomes("!$omp threadprivate(/work/)\n!$omp parallel do\ndo i = 1, n\nend do\n"), "c");
  EXPECT_THAT(rewrite_loops(region("private(own)"), source_form::fortran_free, {}).loops[0].reason,
              HasSubstr("each thread has its own 'own' in the region of line 1"));
}

// gcc refuses a schedule clause where the collapsed loops are no rectangle.
TEST(loop_rewrite, collapsed_loops_must_be_a_rectangle) {
  const std::string two = "#pragma omp for collapse(2)\n";
  const std::string changed = "#pragma omp for schedule(runtime) collapse(2)\n";
  for (const char* loops : {"for (int i = 0; i < n; i++) for (int j = 0; j < n; j++);\n",
                            "for (i = 0; i < n; i++) {\n  for (j = 0; j < n; j++) for (k = j; k < i; k++);\n}\n",
                            "#pragma omp tile sizes(4)\nfor (auto& x : v) for (const auto& y : w);\n"})
    EXPECT_EQ(rewritten(two + loops), changed + loops);
  EXPECT_THAT(why_left(two + "for (int i = 0; i < n; i++) for (int j = i; j < n; j++);\n"),
              HasSubstr("not rectangular"));
  EXPECT_THAT(why_left(two + "for (int i{0}; i < n; i++) { for (int j = 0; j < n - i; j++); }\n"),
              HasSubstr("not rectangular"));
  EXPECT_THAT(why_left(two + "for (auto& x : v) for (auto& y : x);\n"), HasSubstr("not rectangular"));
  EXPECT_THAT(why_left(two + "LOOP(i) LOOP(j) {}\n"), HasSubstr("could not be read"));
  EXPECT_THAT(why_left(two + "for (int i = 0; i < n; i++) LOOP(j) {}\n"), HasSubstr("could not be read"));
  EXPECT_EQ(
      rewritten("#pragma omp for collapse(1)\nfor (int i = 0; i < n; i++) for (int j = i; j < n; j++);\n"),
      "#pragma omp for schedule(runtime) collapse(1)\nfor (int i = 0; i < n; i++) for (int j = i; j < n; j++);\n");
  // A named number: as many loops as there are.
  EXPECT_THAT(why_left("#pragma omp for collapse(D)\nfor (int i = 0; i < n; i++) for (int j = i; j < n; j++);\n"),
              HasSubstr("not rectangular"));
  EXPECT_EQ(
      rewritten("#pragma omp for collapse(D)\nfor (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x++;\n"),
      "#pragma omp for schedule(runtime) collapse(D)\nfor (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x++;\n");
}

TEST(loop_rewrite, lines_and_unknown_directives_are_reported) {
  const rewritten_source result =
      rewrite_loops("\n#pragma omp for\n#pragma omp \\\n parallel for ordered\n#pragma omp fro\n", source_form::c, {});
  ASSERT_EQ(result.loops.size(), 2u);
  EXPECT_EQ(result.loops[0].line, 2u);
  EXPECT_EQ(result.loops[0].outcome, loop_outcome::changed);
  EXPECT_EQ(result.loops[1].line, 3u);
  ASSERT_EQ(result.doubts.size(), 1u);
  EXPECT_EQ(result.doubts[0].line, 5u);
  EXPECT_THAT(result.doubts[0].reason, HasSubstr("'fro' is not known"));
}

TEST(loop_rewrite, free_form_fortran) {
  EXPECT_EQ(free_form("!$omp parallel do private(i)\n"), "!$omp parallel do schedule(runtime) private(i)\n");
  EXPECT_EQ(free_form("  !$OMP DO SIMD ! text\n"), "  !$OMP DO SIMD SCHEDULE(RUNTIME) ! text\n");
  EXPECT_EQ(free_form("!$omp paralleldo schedule(Static)\n"), "!$omp paralleldo schedule(runtime)\n");
  EXPECT_EQ(free_form("!$omp do simdlen(4)\n"), "!$omp do schedule(runtime) simdlen(4)\n");
  for (const char* none :
       {"!$omp simd\n", "!$omp end do\n", "!$omp enddo\n", "!$omp sections\n", "!$omp taskloop\n", "!$omp workshare\n",
        "!$ x = 1\n", "! !$omp do\n", "x = '!$omp do'\n", "!$ompx do\n", "!$omp loop\n", "!$omp parallel\n",
        "!$omp cancel do\n", "!$omp target update to(x)\n", "!$omp declare target\n", "!$omp atomic update\n"}) {
    const rewritten_source result = rewrite_loops(none, source_form::fortran_free, {});
    EXPECT_THAT(result.loops, IsEmpty()) << none;
    EXPECT_THAT(result.doubts, IsEmpty()) << none;
  }
}

TEST(loop_rewrite, continued_lines_of_free_form) {
  EXPECT_EQ(free_form("!$omp parallel do & ! one\n\n  ! two\n!$omp & private(i) &\n!$omp shared(x)\n"),
            "!$omp parallel do schedule(runtime) & ! one\n\n  ! two\n!$omp & private(i) &\n!$omp shared(x)\n");
  EXPECT_EQ(free_form("!$omp parallel &\n!$omp do schedule(sta&\n!$omp&tic)\n"),
            "!$omp parallel &\n!$omp do schedule(sta&\n!$omp&tic)\n");  // no way to change it in its line
  EXPECT_THAT(why_left("!$omp parallel &\n!$omp do schedule(sta&\n!$omp&tic)\n", source_form::fortran_free),
              HasSubstr("no space"));
  EXPECT_EQ(free_form("!$omp parallel &\n!$omp& do sched&\n!$omp&ule(static)\n"),
            "!$omp parallel &\n!$omp& do sched&\n!$omp&ule(runtime)\n");
}

TEST(loop_rewrite, long_lines_of_free_form_are_broken) {
  const rewrite_options narrow{.free_line_length = 40};
  EXPECT_EQ(free_form("!$omp parallel do private(i) shared(x)\n", narrow),
            "!$omp parallel do private(i) shared(x) &\n!$omp& schedule(runtime)\n");
  EXPECT_EQ(free_form("!$omp parallel do private(i) shared(xy)  \n", narrow),
            "!$omp parallel do private(i) shared(xy)  \n");
  EXPECT_EQ(free_form("!$omp do private(i) schedule(static) a()\n", narrow),
            "!$omp do private(i) schedule(static) a()\n");  // no clause
  EXPECT_EQ(free_form("!$omp do private(ij) schedule(static) if(a)\n", {.free_line_length = 43}),
            "!$omp do private(ij) &\n!$omp& schedule(runtime) if(a)\n");
}

TEST(loop_rewrite, nowait_of_fortran_stands_at_the_end) {
  const std::string nowait = "!$omp do\ndo i = 1, n\nend do\n!$omp end do nowait\n";
  EXPECT_THAT(why_left(nowait, source_form::fortran_free), HasSubstr("--nowait"));
  EXPECT_EQ(free_form(nowait, {.nowait = true}), "!$omp do schedule(runtime)\n" + nowait.substr(9));
  EXPECT_THAT(why_left("!$omp do\n!$omp enddo nowait\n", source_form::fortran_free), HasSubstr("--nowait"));
  EXPECT_THAT(why_left("c$omp do\nc$omp enddonowait\n", source_form::fortran_fixed), HasSubstr("--nowait"));
  EXPECT_THAT(why_left("!$omp do nowait\n", source_form::fortran_free), HasSubstr("--nowait"));
  // It belongs to the loop that is still open: not to the first here, which has no end, nor to the parallel one.
  const rewritten_source result = rewrite_loops(
      "!$omp do\n!$omp do\n!$omp parallel do\n!$omp end parallel do\n!$omp end do nowait\n!$omp barrier\n!$omp do\n"
      "!$omp end do\n",
      source_form::fortran_free, {});
  ASSERT_EQ(result.loops.size(), 4u);
  EXPECT_EQ(result.loops[0].outcome, loop_outcome::changed);
  EXPECT_EQ(result.loops[1].outcome, loop_outcome::left);
  EXPECT_EQ(result.loops[2].outcome, loop_outcome::changed);
  EXPECT_EQ(result.loops[3].outcome, loop_outcome::changed);
}

TEST(loop_rewrite, fixed_form_fortran) {
  for (const char* sentinel : {"c$omp", "C$OMP", "*$omp", "!$omp"}) {
    const std::string before = std::string(sentinel) + " parallel do";
    EXPECT_EQ(fixed_form(before + "\n"), before + " schedule(runtime)\n");
  }
  EXPECT_EQ(fixed_form("C$OMP PARALLEL DO\n"), "C$OMP PARALLEL DO SCHEDULE(RUNTIME)\n");
  EXPECT_EQ(fixed_form("c$omp0do private(i)\nc$omp+shared(x)\n      do i=1,n\n"),
            "c$omp0do schedule(runtime) private(i)\nc$omp+shared(x)\n      do i=1,n\n");
  // Blanks mean nothing, and words go on in the next line.
  EXPECT_EQ(fixed_form("c$omp par allel do sche dule(sta tic)\n"), "c$omp par allel do sche dule(runtime)\n");
  EXPECT_EQ(fixed_form("c$omp paralleldosched\nc$omp&ule(static)private(i)\n"),
            "c$omp paralleldosched\nc$omp&ule(runtime)private(i)\n");
  EXPECT_EQ(fixed_form("c$omp do lastprivate(x) collapse\nc comment\nc$omp1(1)\n"),
            "c$omp do schedule(runtime) lastprivate(x) collapse\nc comment\nc$omp1(1)\n");
  EXPECT_THAT(why_left("c$omp doorderedprivate(i)\n", source_form::fortran_fixed), HasSubstr("take turns"));
  for (const char* none : {"  !$omp do\n", "c$omp+do\n", "c $omp do\n", "c$omp enddo\n", "c$ompenddo\n",
                           "c$omp atomicupdate\n", "c$omp criticalname\n"}) {
    const rewritten_source result = rewrite_loops(none, source_form::fortran_fixed, {});
    EXPECT_THAT(result.loops, IsEmpty()) << none;
  }
}

TEST(loop_rewrite, fixed_form_keeps_to_column_72) {
  const std::string wide = "c$omp parallel do private(i,j,k) shared(alpha,beta) reduction(+:sum)";
  ASSERT_EQ(wide.size(), 68u);
  EXPECT_EQ(fixed_form(wide + "\n      do i=1,n\n"), wide + "\nc$omp& schedule(runtime)\n      do i=1,n\n");
  EXPECT_EQ(fixed_form(wide + " ! text\nc$omp+if(x)\n"), wide + " ! text\nc$omp+if(x)\nc$omp& schedule(runtime)\n");
  EXPECT_EQ(fixed_form(wide + "\r\n"), wide + "\r\nc$omp& schedule(runtime)\r\n");
  EXPECT_EQ(fixed_form(wide + "\n", {.fixed_line_length = 132}),
            "c$omp parallel do schedule(runtime)" + wide.substr(17) + "\n");
  const std::string full = "c$omp parallel do private(i,j,k) shared(alpha,beta,ga) schedule(static)";
  ASSERT_EQ(full.size(), 71u);
  EXPECT_EQ(fixed_form(full + "\n"), full.substr(0, 64) + "runtime)\n");
  EXPECT_EQ(fixed_form("c$omp parallel do private(i,j,k) shared(alpha,beta,gam) schedule(static)\n"),
            "c$omp parallel do private(i,j,k) shared(alpha,beta,gam) \nc$omp& schedule(runtime)\n");
  // Beyond column 72 there is nothing that counts.
  EXPECT_EQ(fixed_form("c$omp do" + std::string(64, ' ') + "nowait\n"),
            "c$omp do schedule(runtime)" + std::string(64, ' ') + "nowait\n");
}

TEST(loop_rewrite, collapsed_loops_of_fortran_must_be_a_rectangle) {
  const std::string two = "!$omp do collapse(2)\n";
  const std::string changed = "!$omp do schedule(runtime) collapse(2)\n";
  for (const char* loops :
       {"do i = 1, n\n  do j = 1, m, 2\n", "outer: DO 10, I = 1, &\n  & n ! i\n\n inner: do 10 j=1,n\n"})
    EXPECT_EQ(free_form(two + loops), changed + loops);
  EXPECT_THAT(why_left(two + "do i = 1, n\n do j = I, n\n", source_form::fortran_free), HasSubstr("not rectangular"));
  EXPECT_THAT(why_left(two + "do i = 1, n\n x = 1\n", source_form::fortran_free), HasSubstr("could not be read"));
  EXPECT_THAT(
      why_left("c$omp do collapse(2)\n      do 10 i=1,n\n      do 10 j=1,n\n     1 -i\n", source_form::fortran_fixed),
      HasSubstr("not rectangular"));
  EXPECT_EQ(
      fixed_form("c$omp do collapse(2)\n      do 10 i=1,n\nc text\n      do 10 j=1,\n     1 n\n      x=1\n"),
      "c$omp do schedule(runtime) collapse(2)\n      do 10 i=1,n\nc text\n      do 10 j=1,\n     1 n\n      x=1\n");
}

TEST(loop_rewrite, conditional_parts_of_fortran) {
  EXPECT_THAT(why_left("#if 0\n!$omp do\n#endif\n", source_form::fortran_free), HasSubstr("inside #if 0"));
  EXPECT_EQ(free_form("#if 0\n#else\n!$omp do\n#endif\n"), "#if 0\n#else\n!$omp do schedule(runtime)\n#endif\n");
}

TEST(loop_rewrite, a_second_time_changes_nothing) {
  for (const source_form form : {source_form::c, source_form::fortran_free, source_form::fortran_fixed}) {
    const std::string source = form == source_form::c ? "#pragma omp for\n#pragma omp parallel for schedule(static)\n"
                                                      : "!$omp do\n!$omp parallel do schedule(static)\n";
    const std::string once = rewritten(source, form);
    EXPECT_NE(once, source);
    EXPECT_EQ(rewritten(once, form), once);
  }
}

TEST(loop_rewrite, forms_by_file_name) {
  EXPECT_EQ(form_of("a/b.c"), source_form::c);
  EXPECT_EQ(form_of("b.HPP"), source_form::c);
  EXPECT_EQ(form_of("b.F90"), source_form::fortran_free);
  EXPECT_EQ(form_of("b.F"), source_form::fortran_fixed);
  EXPECT_EQ(form_of("Makefile"), std::nullopt);
  EXPECT_EQ(form_of("b.inc"), std::nullopt);
  EXPECT_EQ(parse_form("free"), source_form::fortran_free);
  try {
    parse_form("fortan");
    FAIL();
  } catch (const std::invalid_argument& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("did you mean 'fortran'"));
  }
}

}  // namespace
}  // namespace tri::tools
