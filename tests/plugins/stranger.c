/* A shared object that is no plug-in. */

int answer(void);
int answer(void) { return 42; }
