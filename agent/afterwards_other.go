//go:build !windows

package agent

// removeWithUs removes what was brought at once: a program that runs needs no file here, so that no end of it leaves any.
func removeWithUs(dir string) (end func() error, err error) {
	return func() error { return nil }, removeBrought(dir)
}
