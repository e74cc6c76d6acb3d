// Package parity is for tests: both modes of the vRouter get the same random frames, by the same tables,
// and must make the same bytes of them.
//
// The kernel runs the tc programs that are attached to interfaces (BPF_PROG_TEST_RUN); the poll mode's
// code runs in a process that has ports which are no devices (vrouter/poll/testdata/stand.c).
package parity
