# cli: help, suggestions, completion, and what a wrong command line is answered with.
import json
import pathlib
import re
import resource
import socket
import subprocess
import sys

import program
from program import Folder, run, tap


def test_help_names_every_command_and_ends_with_0():
    overview = run("--help")
    assert overview.status == 0 and overview.err == ""
    for word in ("version", "completion", "help"):
        assert re.search(rf"^  {word} ", overview.out, re.M), word


def test_no_command_at_all_shows_the_overview_on_standard_error_and_ends_with_2():
    bare = run()
    assert bare.status == 2 and bare.out == ""
    assert bare.err.startswith("usage: trilha COMMAND")


def test_a_limit_on_the_size_of_files_is_an_error_and_no_silent_death():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, 64 * 1024))
    with program.Folder() as folder:
        done = subprocess.run([program.PROGRAM, "init", "--dev", "--store", f"sqlite:{folder.path}/log.db"], cwd=folder.path,
                              env=program.environment(), capture_output=True, timeout=program.TIMEOUT_S, check=False,
                              preexec_fn=limit)
    assert done.returncode > 0, done.returncode  # a signal is negative
    assert done.stderr.startswith(b"trilha: "), done.stderr


def test_help_verb_and_help_option_say_the_same():
    assert run("help", "version").out == run("version", "--help").out
    assert run("help").out == run("--help").out


def test_unknown_command_is_answered_with_the_nearest_one_and_2():
    outcome = run("verison")
    assert outcome.status == 2
    assert "unknown command 'verison'; did you mean 'trilha version'?" in outcome.err


def test_second_words_get_suggestions_too_and_are_found_without_their_first():
    assert "'trilha events' has no command 'lsit'; did you mean 'trilha events list'?" in run("events", "lsit").err
    assert "did you mean 'trilha events replay'?" in run("replay").err
    assert run("events").status == 2 and "  events tail " in run("events").err
    assert run("events", "--help").status == 0 and "  events tail " in run("events", "--help").out


def test_options_may_stand_anywhere_and_be_spelled_with_an_equals_sign():
    outcomes = [run(*words) for words in (("--store", "sqlite:none.db", "events", "list"), ("events", "-s", "sqlite:none.db", "list"),
                                          ("events", "list", "--store=sqlite:none.db"), ("events", "list", "-ssqlite:none.db"))]
    assert {outcome.status for outcome in outcomes} == {4} and len({outcome.err for outcome in outcomes}) == 1, outcomes


def test_option_given_twice_is_refused_unless_it_repeats():
    outcome = run("events", "list", "--type", "a", "--type", "b")
    assert outcome.status == 2 and "option --type was given twice" in outcome.err
    assert run("events", "replay", "--type", "a", "--type", "b").status == 4  # only the store is missing


def test_unknown_command_unlike_any_other_gets_no_guess():
    outcome = run("quetzalcoatl")
    assert outcome.status == 2 and "did you mean" not in outcome.err


def test_unknown_option_is_answered_with_the_nearest_one_and_2():
    outcome = run("version", "--jsno")
    assert outcome.status == 2
    assert "unknown option '--jsno'; did you mean '--json'?" in outcome.err
    assert "see 'trilha version --help'" in outcome.err


def test_flag_with_a_value_is_refused():
    outcome = run("version", "--json=yes")
    assert outcome.status == 2 and "option --json takes no value" in outcome.err


def test_option_without_its_value_is_refused():
    outcome = run("version", "--store")
    assert outcome.status == 2 and "option --store needs a value: URL" in outcome.err


def test_shared_option_that_a_command_has_no_use_for_is_refused():
    outcome = run("version", "--store", "sqlite:x.db")
    assert outcome.status == 2 and "--store has no use here" in outcome.err


def test_operand_too_many_is_refused():
    outcome = run("version", "now")
    assert outcome.status == 2 and "one argument too many: 'now'" in outcome.err


def test_double_dash_ends_the_options():
    outcome = run("completion", "--", "--json")
    assert outcome.status == 2 and "no completion for '--json'" in outcome.err


def test_version_option_and_verb_agree_and_json_is_json():
    plain = run("version")
    assert plain.status == 0 and re.fullmatch(r"trilha \d+\.\d+\.\d+\n", plain.out)
    assert run("--version").out == plain.out and run("-V").out == plain.out
    assert json.loads(run("version", "--json").out)["version"] == plain.out.split()[1]


def test_bash_completion_is_a_script_that_bash_accepts_and_knows_the_verbs():
    script = run("completion", "bash").out
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    asked = script + '\nCOMP_WORDS=(trilha vers); COMP_CWORD=1; _trilha; echo "${COMPREPLY[@]}"\n' \
                     'COMP_WORDS=(trilha version --js); COMP_CWORD=2; _trilha; echo "${COMPREPLY[@]}"\n'
    answer = subprocess.run(["bash"], input=asked, text=True, check=True, stdout=subprocess.PIPE).stdout
    assert answer.split() == ["version", "--json"], answer


def test_zsh_and_fish_completion_name_every_verb():
    for shell in ("zsh", "fish"):
        script = run("completion", shell).out
        for word in ("version", "completion", "help"):
            assert word in script, (shell, word)


def test_terminal_escapes_in_a_mistyped_word_are_not_sent_to_the_terminal():
    outcome = run("\x1b[31mred\u202e")
    assert outcome.status == 2
    assert "\x1b" not in outcome.err and "\u202e" not in outcome.err
    assert "\\u001B[31mred\\u202E" in outcome.err


def test_full_disk_gives_1_and_a_message():
    with open("/dev/full", "wb") as full:
        outcome = run("--help", stdout=full)
    assert outcome.status == 1
    assert "cannot write the output: No space left on device" in outcome.err


def test_reader_that_went_away_ends_the_program_quietly():
    with program.Folder() as folder:
        process = folder.start("--help")
        process.stdout.close()
        process.stdin.close()
        err = process.stderr.read()
        process.stderr.close()
        assert process.wait(program.TIMEOUT_S) == 0 and err == b""


def test_portuguese_locale_speaks_portuguese_and_other_locales_english():
    for env in ({"LC_ALL": "pt_BR.UTF-8"}, {"LC_ALL": "", "LC_MESSAGES": "pt_PT"}, {"LC_ALL": "", "LANG": "pt_BR.UTF-8"}):
        outcome = run("verison", **env)
        assert "comando desconhecido 'verison'; você quis dizer 'trilha version'?" in outcome.err, (env, outcome)
    for env in ({"LC_ALL": "de_DE.UTF-8", "LANG": "pt_BR.UTF-8"}, {"LC_ALL": "ptx"}):
        assert "unknown command" in run("verison", **env).err


def test_colours_appear_on_a_terminal_only_and_not_with_no_color():
    with program.Folder() as folder:
        assert "\x1b[1m" in folder.run_in_terminal("--help").out
        assert "\x1b" not in folder.run_in_terminal("--help", NO_COLOR="1").out
        assert "\x1b" not in folder.run("--help").out


def test_help_fits_a_narrow_terminal():
    with program.Folder() as folder:
        shown = folder.run_in_terminal("completion", "--help", columns=60, NO_COLOR="1").out
        prose = [line for line in shown.splitlines() if not line.lstrip().startswith("trilha ")]
        assert max(len(line) for line in prose) <= 60, shown


def test_B34_the_process_list_shows_no_password():
    with Folder() as folder, socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}/x"
        for words in (["--store", f"postgresql://u:S3CR%40T:MARK@{place}?password=SECOND"], [f"--store=postgres://u:MARK@{place}"]):
            running = folder.start("events", "list", *words)
            try:
                silent.settimeout(program.TIMEOUT_S)
                connection, _ = silent.accept()  # the whole URL reached the driver
                shown = pathlib.Path(f"/proc/{running.pid}/cmdline").read_bytes().decode()
                connection.close()
            finally:
                running.kill()
                running.communicate()
            assert "MARK" not in shown and "S3CR" not in shown and "SECOND" not in shown, shown
            assert "events" in shown and place in shown, shown


if __name__ == "__main__":
    assert len(sys.argv) > 1
    tap.run(globals())
