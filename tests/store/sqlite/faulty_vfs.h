/* tests/store/sqlite: a file layer of SQLite that fails on request. One test program, one registration. */
#ifndef TRILHA_TESTS_STORE_SQLITE_FAULTY_VFS_H
#define TRILHA_TESTS_STORE_SQLITE_FAULTY_VFS_H

#include <stdbool.h>

typedef enum faulty_call { FAULTY_READ, FAULTY_WRITE, FAULTY_SYNC } faulty_call;
typedef enum faulty_file { FAULTY_DATABASE, FAULTY_WAL } faulty_file;

/* Makes it the default of everything opened afterwards. */
void faulty_register(void);
/* The next such calls answer with this SQLite result code, `count` times. */
void faulty_arm(faulty_file file, faulty_call call, int code, int count);
/* How many armed failures were given since the last arming. */
int faulty_given(void);
/* How often any database or its WAL was read since the registration. */
long faulty_reads(void);

#endif
