# tools: embed-sql and embed-file turn files into constants that hold exactly their bytes.
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "support"))
import tap  # pylint: disable=wrong-import-position

CC = os.environ.get("CC", "cc").split()


def embed(folder, tool, *arguments):
    return subprocess.run([sys.executable, str(ROOT / "tools" / tool), *arguments], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def printed(folder, main, *sources):
    """What a program of the generated sources prints."""
    pathlib.Path(folder, "main.c").write_text(f"#include <stdio.h>\n{main}", encoding="utf-8")
    subprocess.run([*CC, "-std=gnu17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'src'}", "-o", "main", "main.c", *sources],
                   cwd=folder, check=True)
    return subprocess.run([str(pathlib.Path(folder, "main"))], stdout=subprocess.PIPE, check=True).stdout


def write(folder, name, text):
    pathlib.Path(folder, name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))


def test_queries_keep_their_bytes_and_lose_comments_and_the_last_semicolon():
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "q.sql", "-- of the file\n\n-- name: one\n-- locks: none\n\nSELECT '?\\\"é\t1';\n\n-- about two\n-- name: two\nSELECT 1, ';'\n"
                               "-- inside\nFROM t;\n")
        assert embed(folder, "embed-sql", "queries", "x", "o.c", "o.h", "q.sql").returncode == 0
        out = printed(folder, '#include "o.h"\nint main(void) { for (int i = 0; i < TRILHA_SQL_X_QUERY_COUNT; i++) '
                              'printf("%s=[%s]\\n", trilha_sql_x_queries[i].name, trilha_sql_x_queries[i].sql); '
                              'return trilha_sql_x_two[0] != 83; }\n', "o.c")
        assert out.decode("utf-8") == "one=[SELECT '?\\\"é\t1']\ntwo=[SELECT 1, ';'\n-- inside\nFROM t]\n", out


def test_migrations_keep_every_byte_their_order_and_their_digest():
    with tempfile.TemporaryDirectory() as folder:
        texts = {"0002_b.sql": "-- two\nCREATE TABLE b();\n", "0001_a.sql": "CREATE TABLE a(x text DEFAULT '\\0??/');\n\n"}
        for name, text in texts.items():
            write(folder, name, text)
        assert embed(folder, "embed-sql", "migrations", "x", "o.c", "o.h", *texts).returncode == 0
        out = printed(folder, '#include "o.h"\nint main(void) { for (int i = 0; i < TRILHA_SQL_X_MIGRATION_COUNT; i++) '
                              'printf("%s %s\\n%s", trilha_sql_x_migrations[i].name, trilha_sql_x_migrations[i].sha256, '
                              'trilha_sql_x_migrations[i].sql); }\n', "o.c")
        expected = "".join(f"{name[:-4]} {hashlib.sha256(texts[name].encode()).hexdigest()}\n{texts[name]}" for name in sorted(texts))
        assert out.decode("utf-8") == expected, out


def test_sql_that_cannot_be_embedded_is_refused_with_its_place():
    bad = {"SELECT 1;\n-- name: a\n": "before the first", "-- name: a\n": "empty", "-- name: A\nSELECT 1;\n": "no name of a query",
           "-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;\n": "named twice", "-- name: a\r\nSELECT 1;\n": "carriage return",
           "-- nothing\n": "no '-- name:'"}
    for text, word in bad.items():
        with tempfile.TemporaryDirectory() as folder:
            write(folder, "q.sql", text)
            done = embed(folder, "embed-sql", "queries", "x", "o.c", "o.h", "q.sql")
            assert done.returncode == 1 and word in done.stdout and "q.sql" in done.stdout, (text, done.stdout)
            assert not pathlib.Path(folder, "o.c").exists()
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "first.sql", "SELECT 1;\n")
        assert "DIGITS_words" in embed(folder, "embed-sql", "migrations", "x", "o.c", "o.h", "first.sql").stdout


def test_files_are_embedded_byte_for_byte_under_their_relative_names():
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(pathlib.Path(folder, "d"))
        data = bytes(range(256)) + b"\r\n"
        write(folder, "d/a.bin", data)
        write(folder, "empty", "")
        assert embed(folder, "embed-file", "trilha_x", "o.c", "o.h", "--root", ".", "d/a.bin", "empty").returncode == 0
        out = printed(folder, '#include "o.h"\nint main(void) { for (int i = 0; i < TRILHA_X_FILE_COUNT; i++) { '
                              'printf("%s %zu ", trilha_x_files[i].name, trilha_x_files[i].size); '
                              'fwrite(trilha_x_files[i].data, 1, trilha_x_files[i].size + 1, stdout); } }\n', "o.c")
        assert out == b"d/a.bin 258 " + data + b"\0empty 0 \0", out


tap.run(globals())
