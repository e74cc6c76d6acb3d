package config

import "slices"

// Fast is whether XDP forwards an interface's packets past tc. It changes what they cost, never what
// becomes of them.
type Fast string

const (
	// FastAuto is on where the driver can do it and nothing pays for it. The default.
	FastAuto Fast = "auto"
	// FastOff leaves all packets to tc.
	FastOff Fast = "off"
	// FastOn is on, or the configuration is refused.
	FastOn Fast = "on"
)

var fasts = []string{string(FastAuto), string(FastOff), string(FastOn)}

// checkFast: the flows of a port in flow mode are in a table that tc has.
func (p Port) checkFast(path string) *Error {
	if p.Fast == FastOn && p.Flow.Policy != "" {
		return bad(path+".fast", "a port in flow mode goes by tc; leave out its %q, or its policy %q", FastOn, p.Flow.Policy)
	}
	return p.Fast.check(path + ".fast")
}

func (f Fast) check(path string) *Error {
	if f != "" && !slices.Contains(fasts, string(f)) {
		return bad(path, "there is no %q fast path%s", f, nearest(string(f), slices.Clone(fasts)))
	}
	return nil
}
