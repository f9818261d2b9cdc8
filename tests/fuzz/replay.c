/* replay.c - runs a fuzz target over files and folders of files: replay PATH... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;

    if (!f || fstat(fileno(f), &st) != 0) {
        perror(path);
        return 1;
    }
    /* Exactly as many bytes as there are, so that a sanitizer sees the first one too far. */
    uint8_t *data = malloc((size_t)st.st_size ? (size_t)st.st_size : 1);
    if (!data || fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size) {
        perror(path);
        exit(1);
    }
    fclose(f);
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
    free(data);
    printf("ok %s\n", path);
    return 0;
}

static int replay(const char *path)
{
    DIR *d = opendir(path);
    int failed = 0;

    if (!d)
        return replay_file(path);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char name[4096];

        if (e->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        failed |= replay(name);
    }
    closedir(d);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;

    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    return failed;
}
