/* commands.c - the table of commands, in the order of --help */
#include "cli/commands.h"

#include "base/util.h"

const struct command *const commands[] = {
    &command_run,        &command_ps,           &command_exec,     &command_attach,   &command_logs,
    &command_cp,         &command_port_forward, &command_top,      &command_runs,     &command_pull,
    &command_images,     &command_image,        &command_render,   &command_validate, &command_convert,
    &command_explain,    &command_plan,         &command_plugins,  &command_doctor,   &command_install,
    &command_controller, &command_node,         &command_server,   &command_job,      &command_queue,
    &command_pod,        &command_flow,         &command_template, &command_slurm,    &command_completion,
    &command_version,
};
const size_t n_commands = ARRAY_LEN(commands);

const struct command *const subcommands[] = {
    &command_image_rm,      &command_image_prune,       &command_server_user,     &command_server_token,
    &command_server_rotate, &command_server_backup,     &command_server_restore,  &command_server_check,
    &command_job_list,      &command_job_view,          &command_job_run,         &command_job_suspend,
    &command_job_resume,    &command_job_delete,        &command_job_logs,        &command_job_exec,
    &command_job_wait,      &command_job_top,           &command_queue_list,      &command_queue_get,
    &command_queue_create,  &command_queue_delete,      &command_queue_operate,   &command_pod_list,
    &command_flow_list,     &command_flow_create,       &command_flow_delete,     &command_flow_get,
    &command_flow_describe, &command_template_list,     &command_template_create, &command_template_delete,
    &command_template_get,  &command_template_describe, &command_sbatch,          &command_srun,
    &command_squeue,        &command_scancel,           &command_sinfo,           &command_sacct,
    &command_scontrol,      &command_runs_show,         &command_runs_report,     &command_runs_logs,
    &command_runs_compare,
};
const size_t n_subcommands = ARRAY_LEN(subcommands);
