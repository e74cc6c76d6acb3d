package docker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Remove takes away everything with a lease's label from the engine at a socket: containers, then
// networks, then images. It returns a line for each.
func Remove(ctx context.Context, socket, lease string) (said []string, err error) {
	client, _, err := Dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	by := filter(LeaseLabel + "=" + lease)
	for _, kind := range []struct{ what, list, remove, query string }{
		{"container", "/containers/json?all=1&" + by, "/containers/", "?force=1&v=1"},
		{"network", "/networks?" + by, "/networks/", ""},
		{"image", "/images/json?" + by, "/images/", "?force=1"},
	} {
		var found []struct{ ID string }
		if failed := client.call(ctx, http.MethodGet, kind.list, nil, &found); failed != nil {
			err = errors.Join(err, fmt.Errorf("listing each %s of the engine at %s: %w", kind.what, socket, failed))
			continue
		}
		for _, one := range found {
			failed := client.call(ctx, http.MethodDelete, kind.remove+url.PathEscape(one.ID)+kind.query, nil, nil)
			if failed != nil && !isMissing(failed) {
				err = errors.Join(err, fmt.Errorf("removing the %s %.12s from the engine at %s: %w", kind.what, one.ID, socket, failed))
				continue
			}
			said = append(said, fmt.Sprintf("removed the %s %.19s from the engine at %s", kind.what, one.ID, socket))
		}
	}
	return said, err
}
