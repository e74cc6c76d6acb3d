package docker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"windtunnel/testbed"
)

// tried is the port that the container publishes by which an engine is tried.
const tried = "1/tcp"

// Learn tells what an engine is that others have started, by making an image of the program, which stays for later Runs, and
// running it once with a port published on 127.0.0.1: no call of the API tells of the userland proxy. Before anything is made
// there, answers is called, once the engine does: an error of it ends the look. What a later error leaves is taken away by Remove,
// of which the caller takes care; found has a version from then on.
func Learn(ctx context.Context, config Config, answers func() error) (found testbed.HostEngine, image string, err error) {
	found.Socket = config.Socket
	if err := testbed.RunsAlone(config.Program); err != nil {
		return found, "", err
	}
	client, version, err := Dial(ctx, config.Socket)
	if err == nil {
		err = answers()
	}
	if err != nil {
		return found, "", err
	}
	r := &Running{config: config, client: client, made: map[string]container{}}
	found.Version = version
	if found.MTU, err = client.bridgeMTU(ctx); err != nil {
		return found, "", r.explain(fmt.Errorf("looking at the default bridge: %w", err))
	}
	place := testbed.EngineContainer{Name: "try", Network: testbed.NetworkDefault}
	if image, err = r.image(ctx, place); err != nil {
		return found, "", r.explain(err)
	}
	if found.Proxy, err = r.tryProxy(ctx, place, image); err != nil {
		return found, "", r.explain(fmt.Errorf("trying a container with a published port: %w", err))
	}
	return found, image, nil
}

// bridgeMTU is the default bridge's; 0 where it is not said, as by Podman, which has none of that name.
func (c *Client) bridgeMTU(ctx context.Context) (int, error) {
	var bridge struct{ Options map[string]string }
	err := c.call(ctx, http.MethodGet, "/networks/"+testbed.NetworkDefault, nil, &bridge)
	if isMissing(err) {
		return 0, nil
	}
	mtu, _ := strconv.Atoi(bridge.Options["com.docker.network.driver.mtu"])
	return max(mtu, 0), err
}

// tryProxy starts a container, looks who passes its port on, and removes it.
func (r *Running) tryProxy(ctx context.Context, place testbed.EngineContainer, image string) (string, error) {
	ask := r.creation(place, image)
	ask["ExposedPorts"] = map[string]any{tried: map[string]any{}}
	ask["HostConfig"].(map[string]any)["PortBindings"] = map[string]any{tried: []any{map[string]string{"HostIp": "127.0.0.1", "HostPort": ""}}}
	if err := r.start(ctx, place, ask); err != nil {
		return "", err
	}
	id := r.made[place.Name].id
	var made struct {
		NetworkSettings struct {
			Ports map[string][]struct{ HostPort string }
		}
	}
	if err := r.client.call(ctx, http.MethodGet, "/containers/"+id+"/json", nil, &made); err != nil {
		return "", err
	}
	var err error
	proxy := testbed.ProxyOff
	for _, at := range made.NetworkSettings.Ports[tried] {
		if port, err := strconv.Atoi(at.HostPort); err == nil && len(proxies(r.config.Processes, []int{port})) > 0 {
			proxy = testbed.ProxyOn
		}
	}
	if len(made.NetworkSettings.Ports[tried]) == 0 {
		err = errors.New("the engine does not say at which port it is published")
	}
	return proxy, errors.Join(err, r.client.call(ctx, http.MethodDelete, "/containers/"+id+"?force=1&v=1", nil, nil))
}

// Proxy is a process that passes on what comes to a port that is published.
type Proxy struct {
	PID  int
	Line string // its command's
}

// Proxies are those of all that is published.
func (r *Running) Proxies() []Proxy {
	var ports []int
	for _, c := range r.want.Containers {
		ports = append(ports, c.Publish...)
	}
	return proxies(r.config.Processes, ports)
}

// PIDs are the first processes of the containers, as the engine counts.
func (r *Running) PIDs() (all []int) {
	for _, c := range r.made {
		all = append(all, c.pid)
	}
	return all
}

// proxies finds them by what docker-proxy is told (cmd/proxy in Moby: -host-port).
func proxies(processes string, ports []int) []Proxy {
	var all []Proxy
	files, _ := filepath.Glob(filepath.Join(processes, "[0-9]*", "cmdline"))
	for _, file := range files {
		line, err := os.ReadFile(file)
		words := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		at := slices.Index(words, "-host-port")
		if err != nil || at < 0 || at+1 >= len(words) || !strings.HasSuffix(words[0], "-proxy") {
			continue
		}
		if port, err := strconv.Atoi(words[at+1]); err == nil && slices.Contains(ports, port) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			all = append(all, Proxy{pid, strings.Join(words, " ")})
		}
	}
	return all
}
