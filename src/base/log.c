/* log.c - */
