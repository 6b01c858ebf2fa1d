/* say.c - sentences for the user: lines or events, the history, the record */
#include "program/run/say.h"

#include "base/clock.h"
#include "base/util.h"
#include "program/run/recorder.h"
#include "program/run/run.h"

void run_note(struct run *r, struct str sentence)
{
    int64_t now_ms = clock_now_ms(r->clock);

    history_note(r->history, sentence, now_ms);
    run_record_note(r, sentence, now_ms);
}

void run_say(struct run *r, struct str sentence)
{
    run_note(r, sentence);
    if (r->is_json)
        run_event_notice(&r->events, sentence, clock_now_ms(r->clock));
    else
        run_progress_say(&r->progress, sentence);
}

void run_tell_text(struct run *r, struct str head, struct str lines)
{
    if (r->is_json) {
        run_event_notice(&r->events, arena_fmt(r->arena, "%.*s\n%.*s", STR_ARG(head), STR_ARG(lines)),
                         clock_now_ms(r->clock));
        return;
    }
    run_progress_say(&r->progress, head);
    run_progress_lines(&r->progress, lines);
}

void run_notice(struct run *r, struct str sentence)
{
    if (!r->o->quiet || r->is_json)
        run_say(r, sentence);
    else
        run_note(r, sentence);
}
