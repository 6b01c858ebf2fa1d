/* sshkey.c - */
