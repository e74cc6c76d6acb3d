//go:build !linux

package agent

import "fmt"

// stayOn refuses a list of CPUs: only Linux binds a whole process to some.
func stayOn(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	return fmt.Errorf("keeping to CPUs %v needs Linux; leave out the list of CPUs", cpus)
}
