/* steps.c - */
