/* webassembly_math.c - the library and the tests of its vector code as one program, that being quicker to compile. */
#include "../../../cinfer/cinfer.c"
#include "../../../cinfer/tests/test_math.c"
