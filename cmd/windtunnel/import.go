package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	others "windtunnel/foreign"
	"windtunnel/result"
)

// maxImported is how many files one run is made of, and maxImportedBytes how many bytes, since all are held at once.
const maxImported, maxImportedBytes = 1000, 256 << 20

func importCommand(s streams) *cobra.Command {
	var o others.Options
	var out string
	c := &cobra.Command{
		Use:   "import FILE...",
		Short: "Make a run of what iperf3 (-J) or NTttcp (-xml) wrote, to report, compare and draw it",
		Long: "Each file is a cell; the files of the two ends of one test are one. With --cell all tests are trials of one\n" +
			"cell, so that repeated tests have intervals, and compare finds the cell of that name.",
		Example: "  iperf3 -c 10.0.0.2 -J > wire.json; windtunnel import wire.json\n" +
			"  windtunnel import before-*.json --cell A --out runs/before\n" +
			"  windtunnel import sender.xml receiver.xml",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > maxImported {
				return fmt.Errorf("%s takes 1 to %d files, not %d; `%s --help` has examples", c.CommandPath(), maxImported, len(args), c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return importFiles(s, args, o, out) },
	}
	c.Flags().StringVar(&out, "out", "", "the run's folder, which must not exist or be empty (default ./runs/<time>-imported)")
	c.Flags().StringVar(&o.Suite, "suite", "", "the run's suite, by which history finds it (default imported)")
	c.Flags().StringVar(&o.Cell, "cell", "", "all tests are trials of this cell")
	return c
}

// importFiles reads everything before it writes anything.
func importFiles(s streams, names []string, o others.Options, dir string) error {
	if dir == "" {
		dir = filepath.Join("runs", time.Now().Format("20060102-150405")+"-imported")
	}
	if err := result.Vacant(dir); err != nil {
		return refused(err)
	}
	var files []others.File
	held := 0
	for _, name := range names {
		f, err := readForeign(name)
		if err != nil {
			return refused(err)
		}
		if held += len(f.Text); held > maxImportedBytes {
			return refused(fmt.Errorf("importing %s: more than %d MiB in all: import the files in several runs", name, maxImportedBytes>>20))
		}
		files = append(files, f)
	}
	o.Run = result.Run{ID: filepath.Base(dir), Command: append([]string{"windtunnel"}, os.Args[1:]...), Version: release}
	run, err := others.Import(files, o)
	if err != nil {
		return refused(err)
	}
	if err := writeRun(dir, run); err != nil {
		return failed(err)
	}
	if _, err := writeReport(s.out, dir, "text"); err != nil {
		return failed(err)
	}
	fmt.Fprintf(s.err, "the run is in %s; `windtunnel report %s` prints it again\n", dir, dir)
	return nil
}

// readForeign reads as much of a file as may be read of one, and no more.
func readForeign(name string) (others.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return others.File{}, fmt.Errorf("importing: %w", err)
	}
	if !info.Mode().IsRegular() { // a FIFO would be waited for, a device has no end
		return others.File{}, fmt.Errorf("importing %s: it is no regular file: name one that holds what iperf3 or NTttcp wrote", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return others.File{}, fmt.Errorf("importing: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, others.MaxFile+1))
	if err != nil {
		return others.File{}, fmt.Errorf("importing %s: %w", name, err)
	}
	return others.File{Name: name, Text: text, Changed: info.ModTime()}, nil
}

// writeRun writes a run file of records that are there already.
func writeRun(dir string, f result.File) error {
	out, err := result.Create(dir)
	if err != nil {
		return err
	}
	return errors.Join(writeRecords(out, f), out.Close())
}

// writeRecords ends with the first that cannot be written: a disk that is full says so of each.
func writeRecords(out *result.Writer, f result.File) error {
	if err := out.Run(f.Run); err != nil {
		return err
	}
	for _, c := range f.Cells {
		if err := out.Cell(c); err != nil {
			return err
		}
	}
	for _, t := range f.Trials {
		if err := out.Trial(t); err != nil {
			return err
		}
	}
	if f.End == nil {
		return nil
	}
	return out.End(*f.End)
}
