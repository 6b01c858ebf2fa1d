/* cppcheck.h - read before every file that cppcheck reads, which does not know expressions made of statements */
#include "base/util.h"

#undef MIN_OF
#undef MAX_OF
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))
