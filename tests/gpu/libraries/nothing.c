/* A shared library that is none of taper's. */
int taper_nothing(void);

int taper_nothing(void)
{
    return 0;
}
