// Package kernel is the vRouter's kernel mode: eBPF programs at tc, their tables, and what it takes
// to load, attach, pin and adopt them. The programs' sources are in C beside it and in vrouter/core.
package kernel
