package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// Program is where a container has the program that its workers run.
const Program = "/windtunnel"

// archive writes a program as an archive that holds nothing else.
func archive(to io.Writer, program string) error {
	file, err := os.Open(program)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	out := tar.NewWriter(to)
	if err := out.WriteHeader(&tar.Header{Name: strings.TrimPrefix(Program, "/"), Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	if _, err := io.Copy(out, file); err != nil {
		return err
	}
	return out.Close()
}

// archived is the archive as it is written, so that it never stands in memory.
func archived(program string) io.ReadCloser {
	from, to := io.Pipe()
	go func() { to.CloseWithError(archive(to, program)) }() // ends when the reader does
	return from
}

// importImage makes an image of the program alone, with the label of what is to be taken away.
func (c *Client) importImage(ctx context.Context, name, label, program string) error {
	ctx, cancel := context.WithTimeout(ctx, imageWithin)
	defer cancel()
	body := archived(program)
	defer body.Close()
	query := url.Values{"fromSrc": {"-"}, "repo": {name}, "changes": {"LABEL " + label}}
	said, err := c.send(ctx, http.MethodPost, "/images/create?"+query.Encode(), "application/x-tar", body)
	if err == nil {
		err = lastError(said)
	}
	if err != nil {
		return fmt.Errorf("making an image of %s: %w", program, err)
	}
	return nil
}

// loadImage loads what `docker save` wrote and returns the name of its image.
func (c *Client) loadImage(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, imageWithin)
	defer cancel()
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("opening the image: %w: write one with `docker save -o FILE NAME`, and name it by its absolute path", err)
	}
	defer file.Close()
	said, err := c.send(ctx, http.MethodPost, "/images/load?quiet=1", "application/x-tar", file)
	if err == nil {
		err = lastError(said)
	}
	if err != nil {
		return "", fmt.Errorf("loading the image %s: %w: it is to be a file that `docker save -o FILE NAME` wrote", path, err)
	}
	for line := range bytes.Lines(said) {
		var note struct{ Stream string }
		if json.Unmarshal(line, &note) != nil {
			continue
		}
		for _, begin := range []string{"Loaded image: ", "Loaded image ID: "} {
			if name, ok := strings.CutPrefix(note.Stream, begin); ok {
				return strings.TrimSpace(name), nil
			}
		}
	}
	return "", fmt.Errorf("loading the image %s: the engine found none in it: write it with `docker save -o FILE NAME`", path)
}

// lastError finds the failure in a stream of progress, which is answered before it is known.
func lastError(said []byte) error {
	for line := range bytes.Lines(said) {
		var note struct{ Error string }
		if json.Unmarshal(line, &note) == nil && note.Error != "" {
			return &Refusal{Status: http.StatusInternalServerError, Message: note.Error}
		}
	}
	return nil
}

// copyIn puts the program into a container that has not been started.
func (c *Client) copyIn(ctx context.Context, container, program string) error {
	ctx, cancel := context.WithTimeout(ctx, imageWithin)
	defer cancel()
	body := archived(program)
	defer body.Close()
	if _, err := c.send(ctx, http.MethodPut, "/containers/"+url.PathEscape(container)+"/archive?path=/", "application/x-tar", body); err != nil {
		return fmt.Errorf("copying %s into it: %w", program, err)
	}
	return nil
}
