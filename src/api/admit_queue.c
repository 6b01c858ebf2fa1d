/* admit_queue.c - */
