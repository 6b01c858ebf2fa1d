/* queue.c - */
