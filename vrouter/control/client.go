package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// Ask sends one request to a vRouter's socket and gives the reply's value, undecoded.
func Ask(socket string, request Request) (json.RawMessage, error) {
	conn, err := net.DialTimeout("unix", socket, requestTime)
	if err != nil {
		return nil, fmt.Errorf("reaching the vRouter: %w; is `vrouter run --socket %s` running?", err, socket)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * requestTime))
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return nil, fmt.Errorf("asking the vRouter: %w", err)
	}
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("reading the vRouter's reply: %w", err)
	}
	switch {
	case request.Get != "":
		return value(line, request.Get)
	case request.Routes != nil:
		return value(line, "routes")
	}
	return value(line, "status")
}

func value(line []byte, what string) (json.RawMessage, error) {
	var reply map[string]json.RawMessage
	if err := json.Unmarshal(line, &reply); err != nil {
		return nil, fmt.Errorf("reading the vRouter's reply: %w", err)
	}
	if text, failed := reply["error"]; failed {
		var message string
		if err := json.Unmarshal(text, &message); err != nil {
			return nil, fmt.Errorf("reading the vRouter's error: %w", err)
		}
		return nil, errors.New(message)
	}
	return reply[what], nil
}
