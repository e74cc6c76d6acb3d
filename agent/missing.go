//go:build linux

package agent

import (
	"context"
	"maps"

	"windtunnel/measure/profile"
	"windtunnel/testbed"
	"windtunnel/testbed/netns"
	"windtunnel/testbed/vm"
)

// Missing tries each of testbed.Features on this machine and returns the reason for each that does not
// work.
func Missing(ctx context.Context) map[string]string {
	missing := netns.Missing(ctx)
	maps.Copy(missing, vm.Missing())
	if why := profile.Missing(); why != "" {
		missing[testbed.FeatureStacks] = why
	}
	return missing
}

// MissingByFiles returns the same of the features that can be known to be missing without trying: nothing is made or loaded, and
// nobody need be root.
func MissingByFiles() map[string]string { return netns.MissingByFiles() }
