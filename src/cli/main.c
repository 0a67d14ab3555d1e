/* cli/main: the program `trilha`. */
#include "cli/cli.h"

int main(int argc, char **argv) {
  return trilha_cli_main(argc, argv);
}
