/* spawner_image.S - the spawner's program, carried in ours: see spawner_exec.c */
    .section .rodata
    .global spawner_image
    .global spawner_image_size
    .balign 16
spawner_image:
    .incbin "pumice-spawner"
.Lend:
    .balign 8
spawner_image_size:
    .quad .Lend - spawner_image
    .section .note.GNU-stack,"",@progbits
