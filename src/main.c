/* main.c - where it begins */
#include "cli/options.h"
#include "ctl/vc.h"

int main(int argc, char **argv)
{
    int status = vc_main(argc, argv); /* called by the name of one of Volcano's tools */

    return status >= 0 ? status : cli_main(argc, argv);
}
