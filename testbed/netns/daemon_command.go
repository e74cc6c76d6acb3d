package netns

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"windtunnel/testbed"
)

// commandWithin is how long each of a daemon's commands gets.
const commandWithin = 10 * time.Second

// daemonDir is the folder of one of the cell's daemons.
func (c *cell) daemonDir(name string) string { return filepath.Join(c.dir, name) }

// InFolders writes the folders of a cell's daemons on this node into a text, as {dir:NAME}.
func (b *Backend) InFolders(cell, text string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.cells[cell]; c != nil {
		for _, d := range c.graph.Part(b.node).Daemons {
			text = strings.ReplaceAll(text, "{dir:"+d.Name+"}", c.daemonDir(d.Name))
		}
	}
	return text
}

// inFolders writes the daemons' folders, and the files of the places' network namespaces, into a daemon's texts.
func (c *cell) inFolders(d testbed.Daemon) testbed.Daemon {
	names := []string{"{dir}", c.daemonDir(d.Name)}
	for _, other := range c.graph.Part(d.Node).Daemons {
		names = append(names, "{dir:"+other.Name+"}", c.daemonDir(other.Name))
	}
	for place, stack := range c.stacks {
		names = append(names, "{netns:"+place+"}", stack.Path())
	}
	in := strings.NewReplacer(names...)
	texts := func(all []string) []string {
		named := make([]string, len(all))
		for i, text := range all {
			named[i] = in.Replace(text)
		}
		return named
	}
	commands := func(all []testbed.Command) []testbed.Command {
		named := make([]testbed.Command, len(all))
		for i, command := range all {
			named[i] = testbed.Command{Program: command.Program, Args: texts(command.Args)}
		}
		return named
	}
	files := make(map[string]string, len(d.Files))
	for name, text := range d.Files {
		files[name] = in.Replace(text)
	}
	d.Args, d.Environment, d.Files = texts(d.Args), texts(d.Environment), files
	d.Before, d.After = commands(d.Before), commands(d.After)
	d.Socket, d.Up.Socket = in.Replace(d.Socket), in.Replace(d.Up.Socket)
	return d
}

// runAll runs commands to their end, one after the other, in the daemon's stack.
func (d *daemon) runAll(ctx context.Context, stack *Stack, commands []testbed.Command) error {
	for _, command := range commands {
		if err := d.runOne(ctx, stack, command); err != nil {
			return err
		}
	}
	return nil
}

// runOne tells why a command failed, in its own words. What it says beside that is
// kept with what the daemon says.
func (d *daemon) runOne(ctx context.Context, stack *Stack, command testbed.Command) error {
	program, err := FindProgram(command.Program)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, commandWithin)
	defer cancel()
	said := &Tail{}
	run := exec.CommandContext(ctx, program, command.Args...)
	run.Dir, run.Stdout, run.Stderr = d.Dir, said, said
	run.Env = append(run.Environ(), d.want.Environment...)
	run.WaitDelay = time.Second
	if err := stack.Start(run); err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	if err := run.Wait(); err != nil {
		return fmt.Errorf("%s %s: %w%s", command.Program, strings.Join(command.Args, " "), err, said.Quoted())
	}
	_, err = d.stderr.Write(said.text)
	return err
}
