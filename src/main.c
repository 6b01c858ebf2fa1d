/* main.c - where it begins */
#include "cli/options.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
