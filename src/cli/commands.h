/* commands.h - the commands; adding one is a file and a row in commands.c */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"

extern const struct command command_completion, command_controller, command_doctor, command_explain, command_install,
    command_node, command_plan, command_plugins, command_render, command_run, command_server, command_validate,
    command_version;
extern const struct command command_server_backup, command_server_check, command_server_restore, command_server_token,
    command_server_user;

#endif
