// Sources that `trireme omp-rewrite` reads: C, C++ and both forms of Fortran. The first byte chooses the form and the
// options.
#include "fuzz/fuzz_target.hpp"
#include "omp_rewrite/loop_rewrite.hpp"
#include "omp_rewrite/text_edit.hpp"

namespace tri::fuzz {

using namespace tools;

bool read(std::string_view input) {
  if (input.empty()) return false;
  const auto choice = static_cast<unsigned char>(input[0]);
  input.remove_prefix(1);
  constexpr source_form forms[] = {source_form::c, source_form::fortran_free, source_form::fortran_fixed};
  const source_form form = forms[choice % 3];
  const rewrite_options options{.chunked = (choice / 3) % 2 == 1, .nowait = (choice / 6) % 2 == 1};
  const rewritten_source changes = rewrite_loops(input, form, options);
  const std::string changed = apply_edits(input, changes.edits);
  unified_diff(input, changes.edits, "input", false);
  lines_changed_by(input, changes.edits);
  const rewritten_source again = rewrite_loops(changed, form, options);
  expect(again.count(loop_outcome::changed) == 0, "nothing is left to change in what was changed");
  return true;
}

std::vector<std::string> seeds() {
  const std::string c =
      "#define FOR _Pragma(\"omp parallel for collapse(2)\")\n"
      "#pragma omp parallel for schedule(static) \\\n  private(i) nowait\n"
      "for (int i = 0; i < n; ++i) { a[i] = 'x'; /* c */ }\n"
      "FOR for (i = 0; i < n; i++) for (j = i; j < m; j++) s(\"\\\"\");\n"
      "#if 0\n#pragma omp for\n#endif\n"
      "[[omp::directive(for schedule(dynamic, 4))]] for (;;) {}\n"
      "[[omp::sequence(directive(parallel), omp::directive(for))]] for (;;) {}\n";
  const std::string free_form =
      "program p\n!$omp parallel do schedule(static, 4) &\n!$omp& collapse(2)\ndo i = 1, n ! c\n do j = 1, i\n"
      "  a(j, i) = 'it''s'\n end do\nend do\n!$omp end parallel do nowait\n!$omp do\ndo concurrent (i = 1:n)\n"
      "end do\nend program\n";
  const std::string fixed_form =
      "c     a comment\n!$omp paralleldo\n!$omp+schedule(static)private(i)\n      do 10 i = 1, n\n"
      "      a(i) = 5HHELLO\n     & + 1\n 10   continue\nc$omp endparalleldo\n*$omp do\n      do i = 1, n\n      "
      "enddo\n";
  std::vector<std::string> made;
  for (const int options : {0, 3, 6, 9}) {
    made.push_back(std::string(1, static_cast<char>(options)) + c);
    made.push_back(std::string(1, static_cast<char>(options + 1)) + free_form);
    made.push_back(std::string(1, static_cast<char>(options + 2)) + fixed_form);
  }
  return made;
}

}  // namespace tri::fuzz
