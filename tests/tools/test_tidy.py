# tools: each rule of tools/tidy catches what it is for, and says nothing of a tree that keeps the rules.
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import tap  # pylint: disable=wrong-import-position

TOOLS = pathlib.Path(__file__).parent.parent.parent / "tools"
TIDY = TOOLS / "tidy"
sys.path.insert(0, str(TOOLS))
sys.dont_write_bytecode = True
from tidy_rules import code, documents, rooms  # pylint: disable=wrong-import-position
from tidy_rules.source import Tree  # pylint: disable=wrong-import-position

RULES = {rule.__name__: rule for rule in rooms.RULES + code.RULES + documents.RULES}

# A tree of two rooms that keeps every rule.
CLEAN = {
    "src/ROOMS": "# rooms\nbase:\nlog: base\n<sqlite3.h>: log\n",
    "src/base/meson.build": "lib_base = static_library('b', dependencies : [dep_threads])\n",
    "src/log/meson.build": "lib_log = static_library('l', dependencies : [dep_base, dep_sqlite])\n",
    "tests/log/meson.build": "",
    "src/base/text.h": "/* base/text: texts. Room: base. */\n#ifndef TRILHA_BASE_TEXT_H\n#define TRILHA_BASE_TEXT_H\n"
                       "enum { TRILHA_TEXT_SIZE_MAX = 3 };\nextern const char trilha_words[];\nint trilha_text(int (*f)(int));\n#endif\n",
    "src/log/append.c": """/* log/append: writes. */
#include "base/text.h"
#include <sqlite3.h>
#include <stdio.h>

static const char *const names[] = {"time (now) printf(", "a"};
static const struct { int a; } table[] = {{1}};
typedef struct row {
  int time;
} row;
struct lone {
  int x;
};
static int forward(row *r);
int (*const trilha_log_hook)(int) = 0;

/* printf("SELECT 1 FROM x") TODOS */
int trilha_log_append(row *r, const trilha_diagnostics *sink) {
  static const int step = 3;
  if (TRILHA_FAULT("log.append.before_commit")) return 1;
  trilha_emit(sink, TRILHA_INFO, "log.appended", "m", NULL);
  char text[8];
  snprintf(text, sizeof text, "%d", r->time);
  return step + forward(r) + r->clock(3);
}

static int forward(row *r) { return names[0][0] + table[0].a + r->time; }
""",
    "tests/log/test_append.c": "/* log: appending. */\nint main(void) { cmocka_unit_test(append_writes_one_row); }\n",
    "docs/limits.md": "| `TRILHA_TEXT_SIZE_MAX` | 3 |\n",
    "docs/diagnostics.md": "| `log.appended` | said after |\n",
    "docs/fault-points.md": "| `log.append.before_commit` | where |\n",
    "README.md": "# Log\n\n[limits](docs/limits.md) [here](#log) [web](https://example.org/x)\n",
    "sql/queries/x.sql": "CREATE TABLE t();\n",
    "sql/sqlite/queries/log.sql": "-- name: append\n-- no lock\nSELECT 1;\n",
}

# rule: the trees that break it, each as the files that differ from the clean tree, and a word that the message must hold.
BROKEN = {
    "table_names_the_rooms_that_exist_and_has_no_circle": [
        ({"src/ROOMS": "base: log\nlog: base\n"}, "circle"), ({"src/ROOMS": "base:\nlog: base\nnone: base\n"}, "src/none/meson.build"),
        ({"src/ROOMS": "base:\nlog: base sky\n"}, "sky"), ({"src/stray/a.c": "/* x */\n"}, "no room"), ({"src/ROOMS": "# none\n"}, "no table")],
    "include_lines_agree_with_the_table": [
        ({"src/base/bad.c": '/* base/bad: x. */\n#include "log/log.h"\n'}, "may not use room 'log'"),
        ({"src/base/bad.c": "/* base/bad: x. */\n#include <sqlite3.h>\n"}, "<sqlite3.h>"),
        ({"src/log/bad.c": '/* log/bad: x. */\n#include "base/base_internal.h"\n'}, "inside"),
        ({"src/log/bad.c": '/* log/bad: x. */\n#include "../base/text.h"\n'}, "no room")],
    "tests_touch_public_and_corridor_headers_of_rooms_that_exist": [
        ({"examples/a.c": '/* x */\n#include "base/text.h"\n'}, "public headers only"),
        ({"tests/log/test_append.c": '/* log: x. */\n#include "sky/sky.h"\n'}, "no room")],
    "meson_files_link_only_what_the_table_allows": [
        ({"src/base/meson.build": "x = [dep_log]\n"}, "may not link room 'log'"), ({"src/base/meson.build": "x = [dep_sqlite]\n"}, "dep_sqlite")],
    "each_room_with_code_has_tests_in_its_mirrored_folder": [({"tests/log/meson.build": None}, "tests/log/meson.build")],
    "first_lines_name_the_room": [
        ({"src/log/append.c": "int x;\n"}, "first line"), ({"src/base/text.h": "/* text: x. Room: base. */\n"}, "first line"),
        ({"src/base/text.h": "/* log/text: x. Room: log. */\n"}, "first line"), ({"src/base/text.h": "/* base/text: x. */\n"}, "Room: base")],
    "include_guards_are_the_path": [({"src/base/text.h": "/* base/text: x. Room: base. */\n#ifndef TEXT_H\n#define TEXT_H\n#endif\n"},
                                     "TRILHA_BASE_TEXT_H")],
    "global_functions_begin_with_trilha": [({"src/log/append.c": "/* log/append: x. */\nint append(int a) {\n  return a;\n}\n"}, "'append'")],
    "public_headers_define_only_names_of_trilha": [
        ({"include/trilha/a.h": "/* x */\n#define MINE 1\n"}, "MINE"), ({"include/trilha/a.h": "/* x */\nstruct mine { int a; };\n"}, "mine")],
    "files_are_short": [({"src/log/append.c": "/* log/append: x. */\n" + "\n" * 801}, "two rooms"), ({"tools/x": "\n" * 801}, "two rooms")],
    "functions_are_short": [
        ({"src/log/append.c": "/* log/append: x. */\nint trilha_a(void) {\n" + "  f();\n" * 69 + "}\n"}, "'trilha_a' has 71 lines"),
        ({"tests/log/test_append.c": "/* x. */\nstatic void a_b_c(void **state)\n{\n" + "  {}\n" * 68 + "}\n"}, "'a_b_c' has 71 lines")],
    "file_names_say_what_is_inside": [({"src/log/log_util.c": "/* log/log_util: x. */\n"}, "name what it does"),
                                      ({"tests/helpers.h": ""}, "name what it does")],
    "library_code_never_prints": [
        ({"src/log/append.c": '/* log/append: x. */\nvoid trilha_x(void) { printf("x"); }\n'}, "printf"),
        ({"src/log/append.c": '/* log/append: x. */\nvoid trilha_x(void) { fprintf(stderr, "x"); }\n'}, "stderr")],
    "time_comes_through_base_clock": [({"src/log/append.c": "/* log/append: x. */\nvoid trilha_x(void) { time(NULL); }\n"}, "'time'"),
                                      ({"src/log/append.c": "/* log/append: x. */\nvoid trilha_x(void) { usleep (3); }\n"}, "'usleep'")],
    "calls_that_went_wrong_before_are_not_used": [({"src/log/append.c": "/* log/append: x. */\nvoid trilha_x(char *a) { strcpy(a, a); }\n"},
                                                   "no bound")],
    "nothing_global_can_change": [
        ({"src/log/append.c": "/* log/append: x. */\nstatic int count;\n"}, "'count'"),
        ({"src/log/append.c": "/* log/append: x. */\nstatic const char *last = 0;\n"}, "'last'"),
        ({"src/log/append.c": "/* log/append: x. */\nstatic struct { int a; } state = {0};\n"}, "'state'"),
        ({"src/log/append.c": "/* log/append: x. */\nint trilha_table[3] = {1, 2, 3};\n"}, "'trilha_table'"),
        ({"src/log/append.c": "/* log/append: x. */\nstatic void (*hook)(int) = 0;\n"}, "'hook'"),
        ({"src/log/append.c": "/* log/append: x. */\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n"}, "'lock'"),
        ({"src/log/append.c": "/* log/append: x. */\nvoid trilha_x(void) {\n  static int seen = 0;\n}\n"}, "'seen'"),
        ({"src/log/append.c": "/* log/append: x. */\nvoid trilha_x(void) {\n  static char buffer[9];\n}\n"}, "'buffer'"),
        ({"src/log/append.c": "/* log/append: x. */\nstatic const _Thread_local int x = 1;\n"}, "thread-local")],
    "no_sql_in_c": [
        ({"src/log/append.c": '/* log/append: x. */\nconst char *const trilha_q = "SELECT 1";\n'}, "SELECT 1"),
        ({"src/log/append.c": '/* log/append: x. */\nconst char *const trilha_q = "insert into t values (1)";\n'}, "insert into"),
        ({"src/log/append.c": '/* log/append: x. */\nconst char *const trilha_q = "COMMIT";\n'}, "COMMIT"),
        ({"src/log/append.c": '/* log/append: x. */\nconst char *const trilha_q = " ORDER BY a";\n'}, "ORDER BY")],
    "tests_are_named_as_sentences": [({"tests/log/test_append.c": "/* log: x. */\nint main(void) { cmocka_unit_test(test_append); }\n"}, "sentence"),
                                     ({"tests/log/test_append.c": "int main(void) { return 0; }\n"}, "first line")],
    "nothing_is_marked_unfinished": [({"src/log/append.c": "/* log/append: x. */\n/* TO" "DO later */\n"}, "unfinished"),
                                     ({"docs/a.md": "FIX" "ME\n"}, "unfinished")],
    "no_path_of_one_machine": [({"docs/a.md": "see /" "work/x\n"}, "one machine"), ({"docs/a.md": "`/ro" "ot/x`\n"}, "one machine"),
                               ({"docs/a.md": "cd /ho" "me/ana/x\n"}, "one machine")],
    "fault_points_are_unique_and_listed": [
        ({"docs/fault-points.md": "nothing\n"}, "not listed"), ({"docs/fault-points.md": None}, "no docs/fault-points.md"),
        ({"docs/fault-points.md": "| `log.append.before_commit` |\n| `log.gone.away` |\n"}, "nowhere"),
        ({"src/log/more.c": '/* log/more: x. */\nint trilha_x(void) { return TRILHA_FAULT("log.append.before_commit"); }\n'}, "stands also"),
        ({"src/log/more.c": '/* log/more: x. */\nint trilha_x(void) { return TRILHA_FAULT("here"); }\n'}, "room.verb.moment")],
    "limits_are_listed": [({"docs/limits.md": "none\n"}, "TRILHA_TEXT_SIZE_MAX"),
                          ({"docs/limits.md": "`TRILHA_TEXT_SIZE_MAX` `TRILHA_GONE_MAX`\n"}, "nowhere")],
    "diagnostics_are_listed": [
        ({"docs/diagnostics.md": "none\n"}, "not listed"), ({"docs/diagnostics.md": "| `log.appended` |\n| `log.gone` |\n"}, "nowhere"),
        ({"src/log/more.c": "/* log/more: x. */\nvoid trilha_x(int s) { trilha_emit(s, 1, name, 0, 0); }\n"}, "literal name"),
        ({"src/log/more.c": '/* log/more: x. */\nstatic const char *const lost = "log.lost";\nvoid trilha_x(int s) { trilha_emit(s, 1, lost, 0, 0); }\n'},
         "'log.lost' is not listed"),
        ({"src/log/more.c": '/* log/more: x. */\nvoid trilha_x(int s) {\n  trilha_emit(s, TRILHA_INFO,\n              "log.more", "m", 0);\n}\n'},
         "'log.more' is not listed")],
    "links_of_documents_resolve": [({"README.md": "[x](docs/none.md)\n"}, "nowhere"), ({"README.md": "# A\n[x](#b)\n"}, "no heading"),
                                   ({"README.md": "[x](../../outside.md)\n"}, "nowhere"),
                                   ({"README.md": "[x](docs/limits.md#none)\n"}, "no heading")],
    "sql_queries_say_their_locks_and_index": [({"sql/sqlite/queries/log.sql": "-- name: append\nSELECT 1;\n"}, "locks")],
    "programs_can_be_run": [({"tools/x": "#!/bin/sh\n"}, "run bit")],
}


def tidy(folder, *arguments):
    return subprocess.run([sys.executable, str(TIDY), "--root", folder, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)


def tree(changes):
    folder = tempfile.TemporaryDirectory()
    for path, text in {**CLEAN, **changes}.items():
        if text is not None:
            file = pathlib.Path(folder.name, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return folder


def test_tree_that_keeps_the_rules_passes():
    with tree({}) as folder:
        done = tidy(folder)
        assert done.returncode == 0, done.stdout
        assert "rules hold" in done.stdout


def test_the_dump_of_the_migrations_may_be_long_and_no_other_sql():
    with tree({"sql/postgres/schema.sql": "\n" * 801, "sql/postgres/queries/schema.sql": "\n" * 801}) as folder:
        assert [path for path, _, _ in RULES["files_are_short"](Tree(folder))] == ["sql/postgres/queries/schema.sql"]


def test_tree_that_breaks_a_rule_is_refused_with_place_and_rule():
    with tree({"src/log/append.c": "/* log/append: x. */\nstatic int count;\n"}) as folder:
        done = tidy(folder, "nothing_global_can_change")
        assert done.returncode == 1 and done.stdout.startswith("src/log/append.c:2: 'count'"), done.stdout
        assert "(nothing_global_can_change)" in done.stdout, done.stdout


def test_each_rule_catches_the_trees_that_break_it():
    for rule, cases in BROKEN.items():
        for changes, word in cases:
            with tree(changes) as folder:
                found = [what for _, _, what in RULES[rule](Tree(folder))]
                assert found, f"{rule} let this pass: {changes}"
                assert any(word in what for what in found), f"{rule} of {changes}: {found}"


def test_each_rule_has_a_tree_that_breaks_it():
    rules = tidy(".", "--list").stdout.split()
    assert sorted(rules) == sorted(BROKEN), set(rules) ^ set(BROKEN)


def test_tap_names_the_rule_that_is_broken_and_only_that():
    with tree({"src/log/append.c": "/* log/append: x. */\nstatic int count;\n", "docs/fault-points.md": None, "docs/diagnostics.md": None}) as folder:
        done = tidy(folder, "--tap")
        broken = [line for line in done.stdout.splitlines() if line.startswith("not ok")]
        assert len(broken) == 1 and broken[0].endswith("nothing_global_can_change"), done.stdout
        assert done.returncode == 1


def test_files_that_version_control_ignores_are_not_checked():
    if not shutil.which("git"):
        tap.skip("git is not installed")
    with tree({".gitignore": "/build*/\n/notes/\n", "notes/a.md": "TO" "DO\n", "build-x/a.md": "TO" "DO\n"}) as folder:
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
        subprocess.run(["git", "init", "-q", folder], check=True, env=environment)
        assert tidy(folder).returncode == 0, tidy(folder).stdout


tap.run(globals())
