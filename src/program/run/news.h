/* news.h - feeds changes to the history and reports its events */
#ifndef PROGRAM_RUN_NEWS_H
#define PROGRAM_RUN_NEWS_H

#include "history/history.h"

struct run;

struct history_hooks run_news(struct run *r); /* for its history */

bool run_feed(struct run *r); /* take what has changed; false: nothing has */
/* Why do jobs wait? Not too often, unless all is settled. */
void run_ask_why(struct run *r, bool is_settled);

#endif
