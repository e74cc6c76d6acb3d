package agent

import (
	"fmt"
	"io"
	"os"
	"strings"

	"windtunnel/result"
)

// anotherHolder is one that does not tell who it is.
const anotherHolder = "another windtunnel"

// longestHolder bounds what is read of a lock, in bytes.
const longestHolder = 512

func holderLine(what string) string { return fmt.Sprintf("process %d (%s)\n", os.Getpid(), what) }

// readHolder reads a holder's line, which may be anybody's.
func readHolder(from io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(from, longestHolder))
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSpace(result.Clean(line)); line == "" {
		return anotherHolder
	}
	return line
}
