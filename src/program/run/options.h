/* options.h - what `pumice run` was asked for: its command line */
#ifndef PROGRAM_RUN_OPTIONS_H
#define PROGRAM_RUN_OPTIONS_H

#include "cli/machine.h"
#include "cli/options.h"

struct run_options {
    const char *output, *logs, *log_dir, *namespace, *timeout, *node, *report, *trace;
    const char *workdir, *max_restarts, *silence, *server, *keep;
    struct text_list files, set, replicas, env, env_files, mounts, publish;
    bool keep_state, dry_run, quiet, wait, fail_on_any, restricted, here, fit, stacks, verbose, detach, no_record,
        no_record_logs, publish_all;
    struct machine_options machine;
};

#endif
