/* plugin.c - */
