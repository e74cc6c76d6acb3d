package profile

// The generated files are committed, so that building needs no C compiler.
//go:generate ./generate.sh
