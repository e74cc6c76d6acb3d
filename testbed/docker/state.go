package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"windtunnel/testbed"
)

// state is what an engine says of a container.
type state struct {
	Running   bool
	OOMKilled bool
	Pid       int
	ExitCode  int
	Error     string
	networks  map[string]endpoint
}

type endpoint struct {
	IPAddress, Gateway, MacAddress string
	IPPrefixLen                    int
}

func (c *Client) state(ctx context.Context, id string) (state, error) {
	var answer struct {
		State           state
		NetworkSettings struct{ Networks map[string]endpoint }
	}
	if err := c.call(ctx, http.MethodGet, "/containers/"+id+"/json", nil, &answer); err != nil {
		return state{}, err
	}
	answer.State.networks = answer.NetworkSettings.Networks
	return answer.State, nil
}

// ended says why a container does not run, nil if it does.
func (c *Client) ended(ctx context.Context, id string, s state) error {
	switch {
	case s.Running:
		return nil
	case s.OOMKilled:
		return errors.New("it had more memory than its limit, and was killed: raise `memory`")
	}
	return fmt.Errorf("it has ended, exit status %d%s%s: the image may lack what our program needs; leave `image` out to see",
		s.ExitCode, after(": ", s.Error), after(", after it said: ", c.lastWords(ctx, id)))
}

func after(word, text string) string {
	if text == "" {
		return ""
	}
	return word + text
}

// maxWords bounds what is quoted of a container's output, in bytes.
const maxWords = 600

// lastWords are what a container said last; none if that cannot be had.
func (c *Client) lastWords(ctx context.Context, id string) string {
	said, err := c.send(ctx, http.MethodGet, "/containers/"+id+"/logs?stdout=1&stderr=1&tail=5", "", nil)
	if err != nil {
		return ""
	}
	var words bytes.Buffer
	if split(bytes.NewReader(said), &words, &words) != nil {
		return ""
	}
	text := strings.TrimSpace(words.String())
	return text[max(0, len(text)-maxWords):]
}

// Verify compares what runs with what was asked for, and returns every difference.
func (r *Running) Verify(ctx context.Context) error {
	var found []error
	for _, want := range r.want.Containers {
		made := r.made[want.Name]
		now, err := r.client.state(ctx, made.id)
		if err == nil {
			err = r.client.ended(ctx, made.id, now)
		}
		if err == nil && now.Pid != made.pid {
			err = fmt.Errorf("it was started anew by somebody (process %d, not %d)", now.Pid, made.pid)
		}
		if err == nil {
			err = now.differs(r.config.Prefix, want)
		}
		if err != nil {
			found = append(found, r.explain(fmt.Errorf("the container %s: %w", want.Name, err)))
		}
	}
	return errors.Join(found...)
}

// podmanBridge is what Podman calls the network of containers for which none was named; it takes Docker's name for it, too.
const podmanBridge = "podman"

// differs compares the container's network.
func (s state) differs(prefix string, want testbed.EngineContainer) error {
	_, plain := s.networks[want.Network]
	if _, podmans := s.networks[podmanBridge]; want.Network == testbed.NetworkDefault && podmans {
		plain = true
	}
	at, own := s.networks[prefix+want.Network]
	if !plain && !own && len(s.networks) > 0 {
		return fmt.Errorf("it is in the networks %s, not in %s", strings.Join(slices.Sorted(maps.Keys(s.networks)), ", "), want.Network)
	}
	if want.Address != "" && at.IPAddress != want.Address {
		return fmt.Errorf("its address is %q, not %s", at.IPAddress, want.Address)
	}
	return nil
}

// Address is the one that a place has in its network, invalid if it has none.
func (r *Running) Address(ctx context.Context, place string) (netip.Addr, error) {
	now, err := r.client.state(ctx, r.made[place].id)
	if err != nil {
		return netip.Addr{}, err
	}
	for _, at := range now.networks {
		if address, err := netip.ParseAddr(at.IPAddress); err == nil {
			return address, nil
		}
	}
	return netip.Addr{}, nil
}

// Found tells what the engine is, and what it gave to each container, a line each.
func (r *Running) Found(ctx context.Context) (string, error) {
	var info struct {
		Driver, CgroupDriver, CgroupVersion, OperatingSystem string
		SecurityOptions                                      []string
	}
	if err := r.client.call(ctx, http.MethodGet, "/info", nil, &info); err != nil {
		return "", r.explain(err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "engine %s; storage %s; control groups %s, version %s; security %s\n", r.version, info.Driver,
		info.CgroupDriver, info.CgroupVersion, strings.Join(info.SecurityOptions, " "))
	for _, want := range r.want.Containers {
		now, err := r.client.state(ctx, r.made[want.Name].id)
		if err != nil {
			return "", r.explain(err)
		}
		for _, name := range slices.Sorted(maps.Keys(now.networks)) {
			at := now.networks[name]
			fmt.Fprintf(&text, "container %s: network %s", want.Name, strings.TrimPrefix(name, r.config.Prefix))
			if at.IPAddress != "" {
				fmt.Fprintf(&text, ", %s/%d, gateway %s, MAC %s", at.IPAddress, at.IPPrefixLen, at.Gateway, at.MacAddress)
			}
			text.WriteByte('\n')
		}
	}
	return text.String(), nil
}
