/* The least a process can do: the rate at which it can be started is the ceiling of a process per commit (BW2c). */
int main(void) { return 0; }
