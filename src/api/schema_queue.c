/* schema_queue.c - */
