package built

import (
	"fmt"
	"os/exec"
	"strings"
)

// sources is a template for `go list -deps`: the files of ours that a program is made of.
const sources = `{{if .Module}}{{if .Module.Main}}{{$folder := .Dir}}` +
	`{{range .GoFiles}}{{$folder}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$folder}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`

// Go compiles a command of this module, named by its import path, to a file.
func Go(command, to string) error {
	if text, err := exec.Command("go", "build", "-o", to, command).CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", command, err, text)
	}
	files, err := goFiles(command)
	if err != nil {
		return err
	}
	return open(files)
}

func goFiles(command string) ([]string, error) {
	lines, err := exec.Command("go", "list", "-deps", "-f", sources, command).Output()
	if err != nil {
		return nil, fmt.Errorf("listing what %s is made of: %w", command, err)
	}
	return strings.FieldsFunc(string(lines), func(r rune) bool { return r == '\n' }), nil
}
