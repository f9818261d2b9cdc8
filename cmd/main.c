/* main.c - the sluice program: finds the command and runs it. */
#include <stdio.h>
#include <string.h>

#include "sluice/base.h"

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("sluice %s\n", sl_version());
        return 0;
    }
    fprintf(stderr, "sluice: error: no such command\n");
    return sl_code_exit_status(SL_EUSAGE);
}
