/* cli: the program's verbs. Room: cli. Corridor header. */
#ifndef TRILHA_CLI_CLI_H
#define TRILHA_CLI_CLI_H

/* Runs the program and returns its exit status: 0 success, 1 the operation failed, 2 usage, 3 refused by validation, 4
 * store unavailable. */
int trilha_cli_main(int argc, char **argv);

#endif
