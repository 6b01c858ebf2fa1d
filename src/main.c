/* main.c - where it begins */
#include "cli/options.h"
#include "ctl/vc.h"
#include "image/puller.h"
#include "node/shim/shim.h"

#include <signal.h>

/* Executed as a helper process of ours, under the name of one of Volcano's tools, or as `pumice`. */
int main(int argc, char **argv)
{
    int status = spawner_program(argv);

    if (status < 0)
        status = probe_main(argc, argv);
    if (status < 0)
        status = puller_program(argv);
    if (status < 0)
        status = vc_main(argc, argv);
    if (status >= 0)
        return status;
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of write(), not a sudden end */
    return cli_main(argc, argv);
}
