/* args.c - */
