/* ssh.c - */
