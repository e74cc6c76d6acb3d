package command

import (
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"windtunnel/traffic/ntttcp"
)

func cmpDiff(want, got any) string {
	return cmp.Diff(want, got, cmpopts.IgnoreFields(ntttcp.Test{}, "Say", "Edge", "Observe"))
}
