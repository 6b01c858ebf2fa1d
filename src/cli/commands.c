/* commands.c - the table of commands, in the order of --help */
#include "cli/commands.h"

#include "base/util.h"

const struct command *const commands[] = { &command_run,     &command_render,  &command_validate,
                                           &command_explain, &command_plan,    &command_plugins,
                                           &command_doctor,  &command_install, &command_controller,
                                           &command_node,    &command_server,  &command_completion,
                                           &command_version };
const size_t n_commands = ARRAY_LEN(commands);

const struct command *const subcommands[] = { &command_server_user, &command_server_token, &command_server_backup,
                                              &command_server_restore, &command_server_check };
const size_t n_subcommands = ARRAY_LEN(subcommands);
