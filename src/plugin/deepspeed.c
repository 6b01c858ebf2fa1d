/* deepspeed.c - */
