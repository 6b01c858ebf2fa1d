/* recorder.h - writes the record of a run while it goes; cli/records.h finds and reads those of all runs
 *
 * All of these do nothing if the run keeps no record. Times are those of the history, to the millisecond.
 */
#ifndef PROGRAM_RUN_RECORDER_H
#define PROGRAM_RUN_RECORDER_H

#include "cli/load.h"
#include "history/history.h"

struct agent_output;
struct run;
struct run_options;
struct run_recorder;

struct run_recorder *run_recorder_find(const struct run_options *o); /* before user_enter(); NULL: none is wanted */
void run_recorder_free(struct run_recorder *c);                      /* NULL is fine */

void run_record_begin(struct run *r, const char *id, const struct load *l);
void run_record_object(struct run *r, const struct object *o, bool is_gone, int64_t now_ms);
void run_record_note(struct run *r, struct str sentence, int64_t now_ms);
void run_record_why(struct run *r, const struct history_job *j, int64_t now_ms);
void run_record_stopped(struct run *r, const struct history_job *j);
void run_record_pod(struct run *r, const struct history_pod *p); /* it may be over */
void run_record_line(struct run *r, const struct agent_output *line);
void run_record_flush(struct run *r);
void run_record_end(struct run *r, int status);

#endif
