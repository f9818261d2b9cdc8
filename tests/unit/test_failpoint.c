#include "unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"

/* The environment is read once, so each case has a process of its own. */
static int in_child(const char *setting, int (*fn)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        setenv("SLUICE_FAILPOINT", setting, 1);
        _exit(fn());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int hits(void)
{
    int failed = 0;

    for (int i = 1; i <= 4; i++)
        if (SL_FAILPOINT("here", NULL) != SL_OK)
            failed |= 1 << i;
    return failed;
}

static void actions(void **state)
{
    (void)state;
    assert_int_equal(in_child("here=error", hits), 1 << 1);
    assert_int_equal(in_child("here:3=error", hits), 1 << 3);
    assert_int_equal(in_child("here:0=error", hits), 30);
    assert_int_equal(in_child("there=error", hits), 0);
    assert_int_equal(in_child("there=error,here:2=error", hits), 1 << 2);
    assert_int_equal(in_child("here:2=exit", hits), 99);
    assert_int_equal(in_child("here=sleep=5", hits), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(actions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
