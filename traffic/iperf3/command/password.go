package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// passwordVariable holds the password of --username, so that nobody has to type.
const passwordVariable = "IPERF3_PASSWORD"

// askPassword takes the password from the environment, or asks for it without
// showing what is typed.
func askPassword(ctx context.Context, in io.Reader, prompt io.Writer, environment func(string) string) (string, error) {
	if password := environment(passwordVariable); password != "" {
		return password, nil
	}
	fmt.Fprint(prompt, "Password: ")
	if terminal, ok := in.(*os.File); ok {
		if restore, err := silence(terminal); err == nil {
			defer fmt.Fprintln(prompt)
			defer restore()
		}
	}
	type answer struct {
		line string
		err  error
	}
	typed := make(chan answer, 1)
	go func() { // it waits in a read that nothing ends: with the process
		const longest = 4096
		line, err := bufio.NewReader(io.LimitReader(in, longest)).ReadString('\n')
		typed <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case a := <-typed:
		password := strings.TrimRight(a.line, "\r\n")
		if password == "" {
			return "", errors.Join(errors.New("no password: type it, or set "+passwordVariable), a.err)
		}
		return password, nil
	}
}
