/* commands.h - the commands; adding one is a file and a row in commands.c */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"

extern const struct command command_completion, command_controller, command_convert, command_doctor, command_explain,
    command_install, command_node, command_plan, command_plugins, command_render, command_run, command_server,
    command_validate, command_version;
extern const struct command command_pull, command_images, command_image, command_image_rm, command_image_prune;
extern const struct command command_server_backup, command_server_check, command_server_restore, command_server_rotate,
    command_server_token, command_server_user;

extern const struct command command_runs, command_runs_compare, command_runs_logs, command_runs_report,
    command_runs_show;

/* Into the pods of runs: into_*.c */
extern const struct command command_ps, command_top, command_exec, command_attach, command_logs, command_cp,
    command_port_forward;

/* Those that speak to a Kubernetes API: api.c, slurm.c */
extern const struct command command_job, command_job_list, command_job_view, command_job_run, command_job_suspend,
    command_job_resume, command_job_delete, command_job_logs, command_job_exec, command_job_wait, command_job_top;
extern const struct command command_queue, command_queue_list, command_queue_get, command_queue_create,
    command_queue_delete, command_queue_operate;
extern const struct command command_pod, command_pod_list;
extern const struct command command_flow, command_flow_list, command_flow_create, command_flow_delete, command_flow_get,
    command_flow_describe;
extern const struct command command_template, command_template_list, command_template_create, command_template_delete,
    command_template_get, command_template_describe;
extern const struct command command_slurm, command_sbatch, command_srun, command_squeue, command_scancel, command_sinfo,
    command_sacct, command_scontrol;

#endif
