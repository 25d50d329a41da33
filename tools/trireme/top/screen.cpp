#include "top/screen.hpp"

#include <curses.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "top/job_figures.hpp"
#include "top/job_text.hpp"

namespace tri::tools {
namespace {

class curses_session {
 public:
  curses_session() {
    screen_ = newterm(nullptr, stdout, stdin);
    if (screen_ == nullptr) {
      const char* const terminal = std::getenv("TERM");
      throw std::runtime_error(std::string("the terminal '") + (terminal == nullptr ? "" : terminal) +
                               "' (TERM) is not known here; use --once or --json");
    }
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
  }
  ~curses_session() {
    endwin();
    delscreen(screen_);
  }
  curses_session(const curses_session&) = delete;
  curses_session& operator=(const curses_session&) = delete;

 private:
  SCREEN* screen_ = nullptr;
};

struct view_state {
  int first = 0;  // line of the table at the top
  bool busiest_first = false;
  bool quits = false;
};

void draw(const job_view& view, view_state& state) {
  const int lines = LINES;
  const int width = std::max(COLS - 1, 1);
  const int heading = static_cast<int>(view.heading.size());
  const int room = std::max(lines - heading - 1, 1);
  const int rows = static_cast<int>(view.rows.size());
  state.first = std::clamp(state.first, 0, std::max(rows - room, 0));
  erase();
  for (int i = 0; i < heading && i < lines; ++i) {
    if (i == heading - 1) attron(A_REVERSE);
    mvaddnstr(i, 0, view.heading[static_cast<std::size_t>(i)].c_str(), width);
    if (i == heading - 1) attroff(A_REVERSE);
  }
  for (int i = 0; i < room && state.first + i < rows; ++i)
    mvaddnstr(heading + i, 0, view.rows[static_cast<std::size_t>(state.first + i)].c_str(), width);
  mvaddnstr(lines - 1, 0, "q quit   s busiest first / by number   arrows, page up and down: scroll", width);
  refresh();
}

// True: a key was pressed that changes what is shown.
bool take_key(int key, view_state& state) {
  switch (key) {
    case 'q':
      state.quits = true;
      return true;
    case 's':
      state.busiest_first = !state.busiest_first;
      return true;
    case KEY_DOWN:
      ++state.first;
      return true;
    case KEY_UP:
      --state.first;
      return true;
    case KEY_NPAGE:
      state.first += LINES / 2;
      return true;
    case KEY_PPAGE:
      state.first -= LINES / 2;
      return true;
    case KEY_RESIZE:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool has_screen() { return true; }

bool watch(job_watch& job, double interval_s) {
  const curses_session session;
  view_state state;
  job_figures figures = job.next();
  while (!state.quits && !job.has_ended()) {
    draw(view_of(figures, state.busiest_first), state);
    timeout(static_cast<int>(interval_s * 1000));
    const int key = getch();
    if (key != ERR && take_key(key, state)) continue;
    if (key == ERR && isatty(STDIN_FILENO) == 0) break;  // the terminal is gone
    figures = job.next();
  }
  return job.has_ended();
}

}  // namespace tri::tools
