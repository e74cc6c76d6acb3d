package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxKept is how many older files stay beside a new one.
const maxKept = 999

// writeFile puts a whole file in its place at once. What was there is kept under
// the next free name FILE.1, FILE.2 and so on, which is returned: of the tools
// one appends a second document to the first, the other one overwrites.
func writeFile(path, text string) (kept string, err error) {
	temp, err := os.CreateTemp(filepath.Dir(path), ".ntttcp-*")
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.Remove(temp.Name()) // gone already where all went well
	_, err = temp.WriteString(text)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if late := temp.Close(); err == nil {
		err = late
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	if kept, err = keepOld(path); err != nil {
		return "", err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return kept, fmt.Errorf("writing %s: %w", path, err)
	}
	return kept, nil
}

// checkTarget finds out before a test what would keep writeFile from its result.
func checkTarget(path string) error {
	if path == "" {
		return nil
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".ntttcp-*")
	if err != nil {
		return fmt.Errorf("%s could not be written: %w", path, err)
	}
	if err := errors.Join(temp.Close(), os.Remove(temp.Name())); err != nil {
		return fmt.Errorf("%s could not be written: %w", path, err)
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return notPlain(path)
	}
	return nil
}

func notPlain(path string) error {
	return fmt.Errorf("%s is there and no plain file; choose another name", path)
}

// keepOld moves a file out of the way.
func keepOld(path string) (kept string, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return "", notPlain(path)
	}
	for i := 1; i <= maxKept; i++ {
		kept = fmt.Sprintf("%s.%d", path, i)
		if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(path, kept); err != nil {
				return "", fmt.Errorf("keeping the older %s as %s: %w", path, kept, err)
			}
			return kept, nil
		}
	}
	return "", fmt.Errorf("%s and %s.1 to .%d are there; remove some, or choose another name", path, path, maxKept)
}
