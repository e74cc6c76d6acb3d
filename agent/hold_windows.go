package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// Hold takes this machine for one run, until release is called or this process ends, however it does: the file exists
// only as long as it is open. The error names the holder.
func Hold(what string) (release func() error, err error) {
	folder, err := windows.KnownFolderPath(windows.FOLDERID_ProgramData, 0)
	if err != nil {
		return nil, fmt.Errorf("finding the folder for the host's lock: %w", err)
	}
	return holdFile(filepath.Join(folder, "windtunnel.lock"), what)
}

func holdFile(path, what string) (release func() error, err error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const others = windows.FILE_SHARE_READ | windows.FILE_SHARE_DELETE // may read who holds it, and not take it
	handle, err := windows.CreateFile(name, windows.GENERIC_WRITE|windows.DELETE, others, nil, windows.CREATE_ALWAYS,
		windows.FILE_ATTRIBUTE_NORMAL|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return nil, fmt.Errorf("this host is taken by %s; one run at a time, or they would measure each other", holderOf(name))
	}
	if err != nil {
		return nil, fmt.Errorf("taking the host's lock %s: %w", path, err)
	}
	file := os.NewFile(uintptr(handle), path)
	if _, err := file.WriteString(holderLine(what)); err != nil {
		return nil, errors.Join(fmt.Errorf("writing the host's lock: %w", err), file.Close())
	}
	return file.Close, nil
}

// holderOf reads who holds a lock that is open elsewhere.
func holderOf(name *uint16) string {
	const others = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	handle, err := windows.CreateFile(name, windows.GENERIC_READ, others, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return anotherHolder
	}
	file := os.NewFile(uintptr(handle), "")
	defer file.Close()
	return readHolder(file)
}
