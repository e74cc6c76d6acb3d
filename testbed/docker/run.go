package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"windtunnel/testbed"
)

// Config is where and how an engine runs containers.
type Config struct {
	Socket string // its API's, a Unix socket
	// Processes is the folder of processes as the engine counts them: /proc, or that of its own
	// namespaces.
	Processes string
	Program   string // a static executable, which every container has as Program
	Idle      []string
	Image     string // of the program alone, which the engine has already; empty: each Run makes one
	CPUs      []int  // that containers may use; empty: all
	// Prefix begins the names of what is made, where others use the engine too.
	Prefix string
	// Lease is the value of the label LeaseLabel of whatever is made.
	Lease string
	// CgroupParent is where the containers' control groups are made; empty: where the engine likes.
	CgroupParent string
}

// LeaseLabel marks what was made, so that it is found again.
const LeaseLabel = "windtunnel.lease"

// ownImage is the name of the image that is made on the spot.
const ownImage = "windtunnel"

// Running is what an engine runs for a cell.
type Running struct {
	config  Config
	client  *Client
	want    testbed.Engine
	version string
	made    map[string]container // by place
}

type container struct {
	id  string
	pid int // as the engine counts
}

// Run makes an engine's networks and starts its containers, each with a process that waits. What
// was made before an error is taken away by Remove, of which the caller takes care.
func Run(ctx context.Context, config Config, want testbed.Engine) (*Running, error) {
	if err := testbed.RunsAlone(config.Program); err != nil {
		return nil, err
	}
	client, version, err := Dial(ctx, config.Socket)
	if err != nil {
		return nil, err
	}
	r := &Running{config: config, client: client, want: want, version: version, made: map[string]container{}}
	for _, n := range want.Networks {
		if err := r.makeNetwork(ctx, n); err != nil {
			return nil, r.explain(fmt.Errorf("making the network %s: %w", n.Name, err))
		}
	}
	images := map[string]string{}
	for _, c := range want.Containers {
		image, known := images[c.Image]
		if !known {
			if image, err = r.image(ctx, c); err != nil {
				return nil, r.explain(err)
			}
			images[c.Image] = image
		}
		if err := r.start(ctx, c, r.creation(c, image)); err != nil {
			return nil, r.explain(fmt.Errorf("starting the container %s of the image %s: %w", c.Name, image, err))
		}
	}
	return r, nil
}

func (c Config) label() string { return LeaseLabel + "=" + c.Lease }

func (c Config) labels() map[string]string { return map[string]string{LeaseLabel: c.Lease} }

func (r *Running) makeNetwork(ctx context.Context, n testbed.EngineNetwork) error {
	ask := map[string]any{"Name": r.config.Prefix + n.Name, "Driver": n.Driver, "CheckDuplicate": true,
		"Options": n.Options, "Labels": r.config.labels()}
	if n.Subnet != "" {
		pool := map[string]string{"Subnet": n.Subnet}
		if n.Gateway != "" {
			pool["Gateway"] = n.Gateway
		}
		ask["IPAM"] = map[string]any{"Config": []any{pool}}
	}
	return r.client.call(ctx, http.MethodPost, "/networks/create", ask, nil)
}

// image makes, loads or names the image of a container.
func (r *Running) image(ctx context.Context, c testbed.EngineContainer) (string, error) {
	switch {
	case c.Image == "" && r.config.Image != "":
		return r.config.Image, nil
	case c.Image == "":
		name := r.config.Prefix + ownImage
		return name, r.client.importImage(ctx, name, r.config.label(), r.config.Program)
	case c.IsFile() && r.config.Prefix != "":
		return "", fmt.Errorf("the image %s is not loaded into an engine that others use, where it would stay: do it by `docker load -i`, and take its name", c.Image)
	case c.IsFile():
		return r.client.loadImage(ctx, c.Image)
	}
	return c.Image, nil
}

// start creates and starts a container as ask has it.
func (r *Running) start(ctx context.Context, c testbed.EngineContainer, ask map[string]any) error {
	name := r.config.Prefix + c.Name
	if len(name) < 2 {
		name += "_" // what Docker takes has two characters at least
	}
	var made struct {
		ID       string
		Warnings []string
	}
	err := r.client.call(ctx, http.MethodPost, "/containers/create?name="+url.QueryEscape(name), ask, &made)
	if isMissing(err) {
		return fmt.Errorf("%w: the engine has no such image, and nothing is pulled: name a file that `docker save` wrote by its path (/... or ./...), or leave `image` out", err)
	}
	if err != nil {
		return err
	}
	for _, warning := range made.Warnings { // Docker then goes on without the limit
		if strings.Contains(warning, "imitation discarded") && !strings.Contains(warning, "swap") {
			return fmt.Errorf("%s The machine cannot limit it so: leave `cpus` and `memory` out, or have the kernel's control groups do it", warning)
		}
	}
	if c.Image != "" {
		if err := r.client.copyIn(ctx, made.ID, r.config.Program); err != nil {
			return err
		}
	}
	if err := r.client.call(ctx, http.MethodPost, "/containers/"+made.ID+"/start", nil, nil); err != nil {
		return cannotStart(err, c)
	}
	state, err := r.client.state(ctx, made.ID)
	if err != nil {
		return err
	}
	r.made[c.Name] = container{id: made.ID, pid: state.Pid}
	return r.client.ended(ctx, made.ID, state)
}

// creation is the body that asks for a container. The process that keeps it alive, and the workers
// beside it, are root there, whatever the image says, and may raise their sockets' buffers as those
// outside of containers do: the path is to make the difference, not the generator.
func (r *Running) creation(c testbed.EngineContainer, image string) map[string]any {
	network := c.Network
	for _, n := range r.want.Networks {
		if n.Name == network {
			network = r.config.Prefix + network
		}
	}
	exposed, bound := map[string]any{}, map[string]any{}
	for _, port := range c.Publish {
		for _, protocol := range []string{"tcp", "udp"} {
			key := fmt.Sprintf("%d/%s", port, protocol)
			exposed[key] = map[string]any{}
			bound[key] = []any{map[string]string{"HostIp": "0.0.0.0", "HostPort": strconv.Itoa(port)}}
		}
	}
	host := map[string]any{
		"NetworkMode": network, "PortBindings": bound, "CapAdd": []string{"NET_ADMIN"},
		"NanoCpus": int64(c.CPUs * 1e9), "Memory": c.MemoryBytes, "CpusetCpus": list(r.config.CPUs), "CgroupParent": r.config.CgroupParent,
	}
	ask := map[string]any{
		"Image": image, "Entrypoint": []string{Program}, "Cmd": r.config.Idle, "User": "0", "OpenStdin": true,
		"Labels": r.config.labels(), "Healthcheck": map[string]any{"Test": []string{"NONE"}},
		"ExposedPorts": exposed, "HostConfig": host,
	}
	if c.MAC != "" {
		ask["MacAddress"] = c.MAC
	}
	if c.Address != "" {
		ask["NetworkingConfig"] = map[string]any{"EndpointsConfig": map[string]any{
			network: map[string]any{"IPAMConfig": map[string]string{"IPv4Address": c.Address}}}}
	}
	return ask
}

func list(cpus []int) string {
	words := make([]string, len(cpus))
	for i, cpu := range cpus {
		words[i] = strconv.Itoa(cpu)
	}
	return strings.Join(words, ",")
}

// cannotStart tells a port that is taken from an image that does not run.
func cannotStart(err error, c testbed.EngineContainer) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "port is already allocated"), strings.Contains(text, "address already in use"):
		return fmt.Errorf("%w: a port that it is to publish (%s) is in use on the node: choose another `port`, or end who has it", err, list(c.Publish))
	case strings.Contains(text, "OCI runtime"), strings.Contains(text, "exec format"):
		return fmt.Errorf("%w: the image cannot run our program: take one for this machine's architecture, or leave `image` out", err)
	}
	return err
}

// explain adds what to do where the engine itself is gone.
func (r *Running) explain(err error) error {
	var gone *net.OpError
	if errors.As(err, &gone) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the engine at %s does not answer any more: look into its log, and start it anew", err, r.config.Socket)
	}
	return err
}

// NetworkStack is a path of a container's network namespace, valid while it runs.
func (r *Running) NetworkStack(place string) string {
	return fmt.Sprintf("%s/%d/ns/net", r.config.Processes, r.made[place].pid)
}

// Exec starts a program's command in a place, as Client.Exec does.
func (r *Running) Exec(ctx context.Context, place string, args []string, stderr io.Writer) (*Session, error) {
	s, err := r.client.Exec(ctx, r.made[place].id, append([]string{Program}, args...), stderr)
	if err != nil {
		return nil, r.explain(err)
	}
	return s, nil
}

// Kill ends every process of a place, at once.
func (r *Running) Kill(place string) error {
	return r.client.call(context.Background(), http.MethodPost, "/containers/"+r.made[place].id+"/kill?signal=KILL", nil, nil)
}
