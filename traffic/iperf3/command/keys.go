package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"windtunnel/traffic/iperf3"
)

const (
	longestKey   = 64 << 10 // bytes of a PEM file
	longestUsers = 16 << 20 // bytes of a file of users
)

// load reads a file that a flag names, and makes of it what the flag is for.
func load[T any](name string, longest int64, parse func([]byte) (T, error)) (value T, err error) {
	file, err := os.Open(name)
	if err != nil {
		return value, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longest+1))
	if err != nil {
		return value, err
	}
	if int64(len(text)) > longest {
		return value, fmt.Errorf("%s has more than %d bytes", name, longest)
	}
	if value, err = parse(text); err != nil {
		return value, fmt.Errorf("%s: %w", name, err)
	}
	return value, nil
}

// someUsers reads a file of users, of which there must be one: an empty file
// would lock everybody out.
func someUsers(text []byte) (iperf3.Users, error) {
	users, err := iperf3.ParseUsers(text)
	if err == nil && len(users) == 0 {
		err = errors.New("it names nobody, so nobody could test: lines of NAME,SHA256 of \"{NAME}PASSWORD\"")
	}
	return users, err
}
