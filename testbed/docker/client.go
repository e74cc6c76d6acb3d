// Package docker runs containers by an engine that speaks Docker's API on a Unix socket (Docker's own,
// or Podman's), and takes them away. It starts no engine and changes no setting of one.
package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// apiVersion is the newest that is asked for: the one of Docker 20.10 and of Podman 3 and 4, with all that
// is needed here. An engine that has dropped it is spoken to in the oldest of its own (Docker's
// "Versioned API and SDK": GET /version is answered without a version in its path).
const apiVersion = "1.41"

const (
	// answerWithin bounds every call but those that move an image.
	answerWithin = 30 * time.Second
	// imageWithin bounds those.
	imageWithin = 2 * time.Minute
	// maxAnswer bounds what is read of an answer, in bytes.
	maxAnswer = 4 << 20
)

// Client speaks to one engine.
type Client struct {
	socket  string
	version string // of the API, without a v; empty: not agreed yet
	http    http.Client
}

// Dial agrees on a version with the engine that listens at a Unix socket; one that has just begun answers
// when it is ready. It returns the engine's version, and the API's, as text beside the client.
func Dial(ctx context.Context, socket string) (*Client, string, error) {
	c := &Client{socket: socket}
	c.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}, DisableKeepAlives: true} // calls are few, and nobody would close what idles
	var v struct{ Version, APIVersion, MinAPIVersion string }
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := c.call(ctx, http.MethodGet, "/version", nil, &v); err != nil {
		return nil, "", c.explain(err)
	}
	c.version = apiVersion
	if newer(v.MinAPIVersion, apiVersion) {
		c.version = v.MinAPIVersion
	}
	if newer(apiVersion, v.APIVersion) {
		return nil, "", fmt.Errorf("the engine at %s speaks version %q of Docker's API, and %s is needed: use Docker 20.10 or Podman 3, or later",
			socket, v.APIVersion, apiVersion)
	}
	return c, v.Version + ", API " + c.version, nil
}

// newer compares versions like 1.41 and 1.9.
func newer(a, b string) bool {
	var a1, a2, b1, b2 int
	if _, err := fmt.Sscanf(a, "%d.%d", &a1, &a2); err != nil {
		return false
	}
	_, _ = fmt.Sscanf(b, "%d.%d", &b1, &b2) // one that says nothing is the oldest
	return a1 > b1 || a1 == b1 && a2 > b2
}

// explain says what to do about an engine that cannot be reached.
func (c *Client) explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no container engine at %s: start it (systemctl start docker), or name another socket: %w", c.socket, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no right to the engine's socket %s: run as root, or as a user of its group (usually docker): %w", c.socket, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody listens at %s: the engine has ended; start it anew: %w", c.socket, err)
	}
	return fmt.Errorf("asking the engine at %s for its version: %w", c.socket, err)
}

// Refusal is an engine's answer that it will not.
type Refusal struct {
	Status  int // of HTTP
	Message string
}

// Error is the engine's own sentence.
func (r *Refusal) Error() string { return r.Message }

// isMissing tells whether the engine does not know what was asked for.
func isMissing(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Status == http.StatusNotFound
}

// call sends a request with a body of JSON, or none, and reads the answer, if answer is not nil.
func (c *Client) call(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = bytes.NewReader(encoded)
	}
	said, err := c.send(ctx, method, path, "application/json", text)
	if err != nil || answer == nil {
		return err
	}
	if err := json.Unmarshal(said, answer); err != nil {
		return fmt.Errorf("%s %s was answered with something else than was to be expected: %w", method, path, err)
	}
	return nil
}

// send sends a request and reads the whole answer.
func (c *Client) send(ctx context.Context, method, path, kind string, body io.Reader) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url(path), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", kind)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the engine's answer to %s: %w", path, err)
	}
	if len(said) > maxAnswer {
		return nil, fmt.Errorf("the engine's answer to %s is longer than %d bytes", path, maxAnswer)
	}
	return said, refusal(response.StatusCode, said)
}

func refusal(status int, said []byte) error {
	if status < http.StatusBadRequest {
		return nil
	}
	var words struct{ Message string }
	if err := json.Unmarshal(said, &words); err != nil || words.Message == "" {
		words.Message = fmt.Sprintf("%.300s", said)
	}
	return &Refusal{Status: status, Message: strings.TrimSpace(words.Message)}
}

func (c *Client) url(path string) string {
	if c.version != "" {
		path = "/v" + c.version + path
	}
	return "http://engine" + path // the name is the socket's, whatever it is
}

// filter is the query that narrows a list down to what has a label.
func filter(label string) string {
	words, _ := json.Marshal(map[string][]string{"label": {label}}) // texts are always encoded
	return "filters=" + url.QueryEscape(string(words))
}
